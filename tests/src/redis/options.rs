//! How a server is configured.

use std::fmt::Write as _;
use std::path::Path;

/// Options of a [`Redis`](super::Redis).
#[derive(Clone, Debug, Default)]
pub struct Options {
    password: Option<String>,
    user: Option<(String, String)>,
    lines: Vec<String>,
    persistent: bool,
    cluster: bool,
}

impl Options {
    /// The default user needs this password.
    #[must_use]
    pub fn password(mut self, password: &str) -> Self {
        self.password = Some(password.to_owned());
        self.line(&format!("requirepass {password}"))
    }

    /// A user of its own for the locks, with these ACL rules (besides `on` and its password).
    #[must_use]
    pub fn user(mut self, name: &str, password: &str, rules: &str) -> Self {
        self.user = Some((name.to_owned(), password.to_owned()));
        self.line(&format!("user {name} on >{password} {rules}"))
    }

    /// Every write is on disk before it is answered, so that a killed server comes back with its data.
    #[must_use]
    pub fn persistent(mut self) -> Self {
        self.persistent = true;
        self
    }

    /// A node of a cluster, which has a second port.
    #[must_use]
    pub(crate) fn cluster(mut self) -> Self {
        self.cluster = true;
        self.line("cluster-enabled yes")
    }

    pub(super) fn is_cluster(&self) -> bool {
        self.cluster
    }

    /// Any other line of redis.conf.
    #[must_use]
    pub fn line(mut self, line: &str) -> Self {
        self.lines.push(line.to_owned());
        self
    }

    pub(crate) fn password_for_admin(&self) -> Option<&str> {
        self.password.as_deref()
    }

    /// `user:password@`, as far as there is one.
    pub(crate) fn credentials(&self) -> String {
        match (&self.user, &self.password) {
            (Some((name, password)), _) => format!("{name}:{password}@"),
            (None, Some(password)) => format!(":{password}@"),
            (None, None) => String::new(),
        }
    }

    pub(super) fn write(&self, dir: &Path, port: u16) {
        let mut conf = String::new();
        let append = if self.persistent { "yes" } else { "no" };
        // Writing to a String cannot fail.
        let _ = write!(
            conf,
            "bind 127.0.0.1\nport {port}\nunixsocket {0}/sock\ndir {0}\nlogfile {0}/log\n\
             daemonize no\nsave \"\"\nappendonly {append}\nappendfsync always\n",
            dir.display()
        );
        for line in &self.lines {
            let _ = writeln!(conf, "{line}");
        }
        std::fs::write(dir.join("redis.conf"), conf).expect("redis.conf is written");
    }
}
