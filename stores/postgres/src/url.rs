//! Parses the URL of a server and its standbys, as libpq does.
//!
//! No error repeats any part of the URL, because each may contain a piece of an unescaped password.

use std::net::Ipv6Addr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use auto_mutex_core::SetupError;
use auto_mutex_core::store::{Address, Parsed, Secret, decode, invalid};
use tokio_postgres::config::ChannelBinding;

use crate::engine::{Hears, Postgres, Tls, TlsMode};

const PORT: u16 = 5432;
/// A waiter that is first in line must ask before it is passed over.
const SLOWEST_POLL: Duration = Duration::from_millis(1100);
const FASTEST_POLL: Duration = Duration::from_millis(10);

pub(crate) fn parse(_: &str, rest: &str) -> Parsed {
    let mut query = Query::of(rest)?;
    let listener = query.take("listen_url");
    let poll = query.take("poll").map(|text| poll(&text)).transpose()?;
    let mut postgres = servers(query)?;
    postgres.hears = match (listener, poll) {
        (None, None) => Hears::Directly,
        (None, Some(pause)) => Hears::Asking(pause),
        (Some(url), None) => Hears::On(Box::new(of_listener(&url)?)),
        (Some(_), Some(_)) => {
            return Err(invalid(
                "`listen_url` and `poll` exclude each other: with the first, nobody needs to ask",
            ));
        }
    };
    Ok(Arc::new(postgres))
}

fn of_listener(url: &str) -> Result<Postgres, SetupError> {
    match url.split_once("://") {
        Some(("postgres" | "postgresql", rest)) => servers(Query::of(rest)?),
        _ => Err(invalid(
            "`listen_url` is the percent-encoded URL of the server itself: `listen_url=postgres%3A%2F%2Fhost%2Fdb`",
        )),
    }
}

fn poll(text: &str) -> Result<Duration, SetupError> {
    let millis = text.strip_suffix("ms").and_then(|text| text.parse().ok());
    match millis.map(Duration::from_millis) {
        Some(pause) if (FASTEST_POLL..=SLOWEST_POLL).contains(&pause) => Ok(pause),
        _ => Err(invalid(
            "`poll` is a time from 10ms to 1100ms: `poll=200ms`",
        )),
    }
}

/// The part before the query, and the parameters, each of which is removed when it is read.
struct Query<'a> {
    whole: &'a str,
    parameters: Vec<(&'a str, String)>,
    known: Vec<&'static str>,
}

impl<'a> Query<'a> {
    fn of(text: &'a str) -> Result<Self, SetupError> {
        if text.contains('#') {
            return Err(invalid("it contains `#`; in a password write `%23`"));
        }
        let (whole, query) = text.split_once('?').unwrap_or((text, ""));
        let mut parameters: Vec<(&str, String)> = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            if parameters.iter().any(|(earlier, _)| *earlier == key) {
                return Err(invalid("a query parameter is given twice"));
            }
            let value = decode(value)?;
            if value.contains('\0') {
                return Err(invalid("a query parameter has a NUL character"));
            }
            parameters.push((key, value));
        }
        Ok(Self {
            whole,
            parameters,
            known: Vec::new(),
        })
    }

    fn take(&mut self, key: &'static str) -> Option<String> {
        self.known.push(key);
        let mut found = self.parameters.iter();
        let index = found.position(|(found, _)| *found == key)?;
        let value = self.parameters.swap_remove(index).1;
        (!value.is_empty()).then_some(value)
    }

    /// The parameter by its name in libpq, or by that in the URLs of our other engines.
    fn either(&mut self, key: &'static str, ours: &'static str) -> Option<String> {
        let (one, other) = (self.take(key), self.take(ours));
        one.or(other)
    }

    fn one_of<T: Copy>(
        &mut self,
        key: &'static str,
        values: &[(&str, T)],
        reason: &str,
    ) -> Result<Option<T>, SetupError> {
        let Some(text) = self.take(key) else {
            return Ok(None);
        };
        let found = values.iter().find(|(value, _)| *value == text);
        match found {
            Some((_, value)) => Ok(Some(*value)),
            None => Err(invalid(format!("`{key}` is {reason}"))),
        }
    }

    fn finish(self) -> Result<(), SetupError> {
        if self.parameters.is_empty() {
            return Ok(());
        }
        let known: Vec<_> = self.known.iter().map(|key| format!("`{key}`")).collect();
        Err(invalid(format!(
            "a query parameter is unknown; known are {} (in a password write `?` as `%3F`)",
            known.join(", ")
        )))
    }
}

/// `[user[:password]@][host[:port],…][/database]`
fn servers(mut query: Query<'_>) -> Result<Postgres, SetupError> {
    let (authority, path) = query.whole.split_once('/').unwrap_or((query.whole, ""));
    // At the last `@`, so that one in a password need not be escaped.
    let (login, hosts) = match authority.rsplit_once('@') {
        Some((login, hosts)) => (login, hosts),
        None => ("", authority),
    };
    let (user, password) = login.split_once(':').unwrap_or((login, ""));
    let part = |text: &str| decode(text).map(|text| (!text.is_empty()).then_some(text));
    let (user, password, database) = (part(user)?, part(password)?, part(path)?);
    let secret = |text: Option<String>| text.map(Secret::new);
    let ports = query.take("port").unwrap_or_default();
    let ports = ports.split(',').filter(|port| !port.is_empty());
    let ports = ports.map(port).collect::<Result<Vec<_>, _>>()?;
    let named = query.take("host").unwrap_or_default();
    let hosts: Vec<_> = match (hosts, &*named) {
        ("", "") => Vec::new(),
        ("", named) => named.split(',').map(|host| (host.to_owned(), 0)).collect(),
        (hosts, "") => hosts
            .split(',')
            .map(host_and_port)
            .collect::<Result<_, _>>()?,
        _ => {
            return Err(invalid(
                "it names hosts twice: before the `/`, and as `host`",
            ));
        }
    };
    if ports.len() > 1 && ports.len() != hosts.len() {
        return Err(invalid("it has more or fewer ports than hosts"));
    }
    let hosts = hosts.into_iter().enumerate();
    let servers = hosts.map(|(index, (host, port))| {
        let given = ports.get(index).or(ports.first()).copied();
        address(
            host,
            if port > 0 {
                port
            } else {
                given.unwrap_or(PORT)
            },
        )
    });
    let servers = servers.collect::<Result<Vec<_>, _>>()?;
    if servers.is_empty() {
        return Err(invalid(
            "the host is missing: `postgres://user@host/database`, or `postgres:///database?host=/run/postgresql`",
        ));
    }
    let path = |text: Option<String>| text.map(PathBuf::from);
    let postgres = Postgres {
        user: secret(user.or(query.take("user"))),
        password: secret(password.or(query.take("password"))),
        database: secret(database.or(query.take("dbname"))),
        pass_file: path(query.take("passfile")),
        application: query.take("application_name"),
        options: secret(query.take("options")),
        tls: tls(&mut query)?,
        is_shuffled: query
            .one_of(
                "load_balance_hosts",
                &[("disable", false), ("random", true)],
                "`disable` or `random`",
            )?
            .unwrap_or(false),
        ..Postgres::at(servers)
    };
    // Locks need the server that takes writes, whatever the URL says.
    let session = [("any", ()), ("read-write", ()), ("primary", ())];
    query.one_of("target_session_attrs", &session, "`read-write` for locks")?;
    // Sockets are always kept alive, and `Config::connect_timeout` limits the set-up.
    for key in [
        "connect_timeout",
        "keepalives",
        "keepalives_idle",
        "keepalives_interval",
        "keepalives_count",
        "tcp_user_timeout",
    ] {
        query.take(key);
    }
    query.finish()?;
    Ok(postgres)
}

fn tls(query: &mut Query<'_>) -> Result<Tls, SetupError> {
    use TlsMode::{Disable, Prefer, Require, VerifyCa, VerifyFull};
    let modes = [
        ("disable", Disable),
        // Without TLS first, and then with: with is better than without.
        ("allow", Prefer),
        ("prefer", Prefer),
        ("require", Require),
        ("verify-ca", VerifyCa),
        ("verify-full", VerifyFull),
    ];
    let text = "`disable`, `prefer`, `require`, `verify-ca` or `verify-full`";
    let asked = query.one_of("sslmode", &modes, text)?;
    let bindings = [
        ("disable", ChannelBinding::Disable),
        ("prefer", ChannelBinding::Prefer),
        ("require", ChannelBinding::Require),
    ];
    let text = "`disable`, `prefer` or `require`";
    let binding = query.one_of("channel_binding", &bindings, text)?;
    let ca = query.either("sslrootcert", "ca");
    let identity = match (
        query.either("sslcert", "cert"),
        query.either("sslkey", "key"),
    ) {
        (Some(cert), Some(key)) => Some((cert.into(), key.into())),
        (None, None) => None,
        _ => return Err(invalid("`sslcert` and `sslkey` only make sense together")),
    };
    let mode = match (asked, ca.as_deref()) {
        (_, Some("system")) => VerifyFull,
        // As libpq: who names an authority wants to know the server.
        (Some(Require), Some(_)) => VerifyCa,
        (asked, _) => asked.unwrap_or(Prefer),
    };
    let binding = binding.unwrap_or(ChannelBinding::Prefer);
    let needs = mode >= Require || binding == ChannelBinding::Require;
    if needs && !cfg!(feature = "tls-no-provider") {
        return Err(SetupError::unsupported(
            "postgres",
            "this program was built without TLS: run `cargo add auto-mutex --features tls`",
        ));
    }
    Ok(Tls {
        mode,
        binding,
        ca: ca.filter(|ca| ca != "system").map(PathBuf::from),
        identity,
        server_name: query.take("server_name"),
    })
}

fn host_and_port(text: &str) -> Result<(String, u16), SetupError> {
    let (host, number) = match text.strip_prefix('[') {
        Some(rest) => {
            let Some((host, number)) = rest.split_once(']') else {
                return Err(invalid("the IPv6 address has no closing bracket"));
            };
            let address = host.split('%').next().unwrap_or_default();
            if address.parse::<Ipv6Addr>().is_err() {
                return Err(invalid("the text in brackets is not an IPv6 address"));
            }
            (host.replacen("%25", "%", 1), number)
        }
        None => {
            let (host, number) = text.split_at(text.find(':').unwrap_or(text.len()));
            (decode(host)?, number)
        }
    };
    match number.strip_prefix(':') {
        None if number.is_empty() => Ok((host, 0)),
        None => Err(invalid("only a port may follow the IPv6 address")),
        Some(number) => Ok((host, port(number)?)),
    }
}

fn port(text: &str) -> Result<u16, SetupError> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(port) if is_number && port > 0 => Ok(port),
        _ => Err(invalid(
            "the port is not a number from 1 to 65535 (write IPv6 addresses in brackets and percent-encode special \
             characters of the password)",
        )),
    }
}

/// A host that begins with a slash is the folder of a socket.
fn address(host: String, port: u16) -> Result<Address, SetupError> {
    if host.starts_with('/') {
        let socket = Path::new(&host).join(format!(".s.PGSQL.{port}"));
        return Ok(Address::Unix(socket));
    }
    if host.is_empty() {
        return Err(invalid("the host is missing"));
    }
    // Allows international host names, underscores and IPv6 addresses, but no other characters that separate parts of a
    // URL.
    let odd = |c: char| {
        c.is_ascii() && !c.is_ascii_alphanumeric() && !matches!(c, '-' | '.' | '_' | ':' | '%')
    };
    if host.contains(odd) || host.contains(char::is_whitespace) {
        return Err(invalid(
            "the host contains a character that no host name has; percent-encode those of the password",
        ));
    }
    Ok(Address::Tcp { host, port })
}
