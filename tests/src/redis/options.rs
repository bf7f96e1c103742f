//! The configuration of a server.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::authority::{Authority, Identity};
use crate::clock::Clock;

/// Options of a [`Redis`](super::Redis).
#[derive(Clone, Debug, Default)]
pub struct Options {
    password: Option<String>,
    user: Option<(String, String)>,
    lines: Vec<String>,
    /// The `appendfsync` of the server, if it has an append-only file.
    appends: Option<&'static str>,
    cluster: bool,
    tls: Option<Secure>,
    sentinel: bool,
    clock: Option<Arc<Clock>>,
}

/// The files that a server needs for TLS.
#[derive(Clone, Debug)]
struct Secure {
    ca: PathBuf,
    identity: Identity,
}

impl Options {
    /// The default user needs this password.
    #[must_use]
    pub fn password(mut self, password: &str) -> Self {
        self.password = Some(password.to_owned());
        self.line(&format!("requirepass {password}"))
    }

    /// Adds a user for the locks, with these ACL rules (besides `on` and its password).
    #[must_use]
    pub fn user(mut self, name: &str, password: &str, rules: &str) -> Self {
        self.user = Some((name.to_owned(), password.to_owned()));
        self.line(&format!("user {name} on >{password} {rules}"))
    }

    /// Adds a user for the locks, with only the rights that the library needs.
    #[must_use]
    pub fn least_rights(self) -> Self {
        self.least_rights_of("redis")
    }

    /// As [`least_rights`](Self::least_rights), for a node of another kind of store; `scheme` is the scheme of its URL.
    #[must_use]
    pub fn least_rights_of(self, scheme: &str) -> Self {
        let rule = auto_mutex::acl_rule(format!("{scheme}://127.0.0.1")).expect("a rule");
        self.user("locks", "least", &rule.to_string())
    }

    /// Makes the server write to disk before it answers, as `docs/operations.md` advises. A busy disk makes this slow,
    /// so most tests use [`survives_kills`](Self::survives_kills).
    #[must_use]
    pub fn persistent(mut self) -> Self {
        self.appends = Some("always");
        self
    }

    /// Makes the server pass every write to the operating system before it answers, so that a killed server comes back
    /// with its data, whatever the speed of the disk.
    #[must_use]
    pub fn survives_kills(mut self) -> Self {
        self.appends = Some("no");
        self
    }

    /// Makes the server a node of a cluster, which has a second port.
    #[must_use]
    pub fn cluster(mut self) -> Self {
        self.cluster = true;
        self.line("cluster-enabled yes")
    }

    pub(super) fn is_cluster(&self) -> bool {
        self.cluster
    }

    /// The server accepts TLS on a second port, as `identity`, and asks clients for no certificate.
    #[must_use]
    pub fn tls(mut self, authority: &Authority, identity: Identity) -> Self {
        self.tls = Some(Secure {
            ca: authority.ca(),
            identity,
        });
        self.line("tls-auth-clients no")
    }

    /// Starts a sentinel instead of a server.
    #[must_use]
    pub fn sentinel(mut self) -> Self {
        self.sentinel = true;
        self
    }

    pub(super) fn is_sentinel(&self) -> bool {
        self.sentinel
    }

    /// The server uses this clock instead of the machine's.
    #[must_use]
    pub fn clock(mut self, clock: &Arc<Clock>) -> Self {
        self.clock = Some(clock.clone());
        self
    }

    pub(super) fn its_clock(&self) -> Option<&Clock> {
        self.clock.as_deref()
    }

    /// Adds a line to redis.conf.
    #[must_use]
    pub fn line(mut self, line: &str) -> Self {
        self.lines.push(line.to_owned());
        self
    }

    pub(crate) fn has_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// `ca=…`, as part of a URL. Copies the authority's certificate to `dir`, for clients that connect from now on.
    pub(super) fn copy_ca_to(&mut self, dir: &Path) {
        if let Some(tls) = &mut self.tls {
            let copy = dir.join("ca.pem");
            fs::copy(&tls.ca, &copy).expect("a copy");
            tls.ca = copy;
        }
    }

    pub(crate) fn trust(&self) -> String {
        let tls = self.tls.as_ref().expect("a server with TLS");
        format!("ca={}", tls.ca.display())
    }

    pub(crate) fn password_for_admin(&self) -> Option<&str> {
        self.password.as_deref()
    }

    /// `user:password@`, without the parts that are not set.
    pub(crate) fn credentials(&self) -> String {
        match (&self.user, &self.password) {
            (Some((name, password)), _) => format!("{name}:{password}@"),
            (None, Some(password)) => format!(":{password}@"),
            (None, None) => String::new(),
        }
    }

    pub(super) fn write(&self, dir: &Path, port: u16, tls_port: u16) {
        let mut conf = String::new();
        let append = if self.appends.is_some() { "yes" } else { "no" };
        let flush = self.appends.unwrap_or("no");
        // Writing to a String cannot fail.
        let _ = write!(
            conf,
            "bind 127.0.0.1\nport {port}\nunixsocket {0}/sock\ndir {0}\nlogfile {0}/log\n\
             daemonize no\nsave \"\"\nappendonly {append}\nappendfsync {flush}\n",
            dir.display()
        );
        if let Some(Secure { ca, identity }) = &self.tls {
            let _ = writeln!(
                conf,
                "tls-port {tls_port}\ntls-ca-cert-file {}\ntls-cert-file {}\ntls-key-file {}",
                ca.display(),
                identity.cert.display(),
                identity.key.display()
            );
        }
        for line in &self.lines {
            let _ = writeln!(conf, "{line}");
        }
        fs::write(dir.join("redis.conf"), conf).expect("redis.conf is written");
    }
}
