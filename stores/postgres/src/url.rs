//! Parses the URL of a server and its standbys, with the parameters of libpq and a few of our own.
//!
//! No error repeats any part of the URL, because each may contain a piece of an unescaped password.

use std::net::Ipv6Addr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use auto_mutex_net::{Url, host_and_port, number, socket::Tls};
use auto_mutex_seam::SetupError;
use auto_mutex_seam::store::{Address, Parsed, STORE, decode, invalid};
use tokio_postgres::Config;
use tokio_postgres::config::ChannelBinding;

use crate::engine::{Postgres, TlsMode};

const PORT: u16 = 5432;
/// A waiter that is first in line must ask before it is passed over.
const SLOWEST_POLL: Duration = Duration::from_millis(1100);
const FASTEST_POLL: Duration = Duration::from_millis(10);
/// Parameters of libpq without an effect here: sockets are always kept alive, `Config::connect_timeout` limits the
/// set-up, and locks need the server that takes writes.
const IGNORED: &str = "client_encoding connect_timeout fallback_application_name keepalives keepalives_count keepalives_idle \
    keepalives_interval load_balance_hosts sslcompression sslsni tcp_user_timeout";
/// What other drivers and their poolers understand.
const FOREIGN: &str = "connection_limit currentSchema max_conns min_conns pgbouncer pool pool_max_conns pool_size pool_timeout \
    prepareThreshold prepared_statements schema search_path socket_timeout statement-cache-capacity statement_cache_size";
/// Parameters of libpq and Prisma that would be missed: they say which server it is, or how safe the connection.
const REFUSED: &str = "gssdelegation gsslib hostaddr krbsrvname max_protocol_version min_protocol_version oauth_client_id \
    oauth_client_secret oauth_issuer oauth_scope passfile replication require_auth requirepeer scram_client_key scram_server_key \
    service servicefile sslaccept sslcertmode sslcrl sslcrldir sslidentity sslkeylogfile sslpassword ssl_max_protocol_version \
    ssl_min_protocol_version";

const MODES: [(&str, TlsMode); 6] = [
    ("disable", TlsMode::Disable),
    // libpq tries it without TLS first. With it is better.
    ("allow", TlsMode::Prefer),
    ("prefer", TlsMode::Prefer),
    ("require", TlsMode::Require),
    ("verify-ca", TlsMode::VerifyCa),
    ("verify-full", TlsMode::VerifyFull),
];
const BINDINGS: [(&str, ChannelBinding); 3] = [
    ("disable", ChannelBinding::Disable),
    ("prefer", ChannelBinding::Prefer),
    ("require", ChannelBinding::Require),
];

pub(crate) fn parse(_: &str, rest: &str) -> Parsed {
    if rest.contains("%00") {
        return Err(invalid("it contains `%00`, which PostgreSQL does not know"));
    }
    Ok(Arc::new(one(Url::split(rest)?)?))
}

/// A parameter. An empty one counts as missing.
fn text(url: &mut Url<'_>, key: &'static str) -> Option<String> {
    url.take(key).filter(|text| !text.is_empty())
}

/// One of the values of a parameter.
fn one_of<T: Copy>(
    url: &mut Url<'_>,
    key: &'static str,
    values: &[(&str, T)],
) -> Result<Option<T>, SetupError> {
    let Some(text) = text(url, key) else {
        return Ok(None);
    };
    let known = || values.iter().map(|(value, _)| format!("`{value}`"));
    match values.iter().find(|(value, _)| *value == text) {
        Some((_, value)) => Ok(Some(*value)),
        None => Err(invalid(format!(
            "`{key}` is one of {}",
            known().collect::<Vec<_>>().join(", ")
        ))),
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

/// `[user[:password]@][host[:port],…][/database][?parameter=value&…]`
fn one(mut url: Url<'_>) -> Result<Postgres, SetupError> {
    let (user, password, hosts) = url.login()?;
    let database = decode(url.path)?;
    let mut postgres = Postgres::at(servers(&mut url, hosts)?);
    postgres.poll = text(&mut url, "poll").map(|text| poll(&text)).transpose()?;
    let config = &mut postgres.config;
    type Set = for<'a> fn(&'a mut Config, &str) -> &'a mut Config;
    let parts: [(&str, &'static str, Set); 5] = [
        (&user, "user", |config, text| config.user(text)),
        (&password, "password", |config, text| config.password(text)),
        (&database, "dbname", |config, text| config.dbname(text)),
        ("", "options", |config, text| config.options(text)),
        ("", "application_name", |config, text| {
            config.application_name(text)
        }),
    ];
    for (part, key, set) in parts {
        let named = text(&mut url, key);
        match (part, named) {
            ("", None) => {}
            ("", Some(named)) => drop(set(config, &named)),
            (part, None) => drop(set(config, part)),
            _ => return Err(invalid(format!("it has `{key}` twice"))),
        }
    }
    (postgres.tls_mode, postgres.tls) = tls(&mut url, &mut postgres.config)?;
    for (key, harmless) in [
        ("target_session_attrs", "any read-write primary"),
        ("gssencmode", "disable prefer"),
        ("sslnegotiation", "postgres"),
    ] {
        let values: Vec<_> = harmless.split(' ').map(|value| (value, ())).collect();
        one_of(&mut url, key, &values)?;
    }
    for key in IGNORED.split(' ') {
        url.take(key);
    }
    for key in FOREIGN.split(' ') {
        if url.has(key) {
            tracing::warn!(
                target: STORE,
                parameter = key,
                "a parameter of the URL of PostgreSQL has no effect here"
            );
        }
    }
    if let Some(key) = REFUSED.split(' ').find(|key| url.has(key)) {
        return Err(invalid(format!(
            "`{key}` is not supported: remove it, if that is safe"
        )));
    }
    url.finish()?;
    Ok(postgres)
}

/// The servers: before the path as usual, or in the parameters `host` and `port` as in libpq.
fn servers(url: &mut Url<'_>, hosts: &str) -> Result<Vec<Address>, SetupError> {
    let (named, ports) = (text(url, "host"), text(url, "port").unwrap_or_default());
    let ports = ports.split(',').map(|port| match (port, number(port)) {
        ("", _) => Ok(PORT),
        (_, Some(port)) if port > 0 => Ok(port),
        _ => Err(invalid("`port` is not a number from 1 to 65535")),
    });
    let ports = ports.collect::<Result<Vec<_>, _>>()?;
    let hosts = match (hosts, named) {
        ("", Some(named)) => named,
        ("", None) => {
            return Err(invalid(
                "the host is missing: `postgres://user@host/database`, or `postgres:///database?host=/run/postgresql`",
            ));
        }
        (hosts, None) => hosts.to_owned(),
        _ => {
            return Err(invalid(
                "it names hosts twice: before the `/`, and as `host`",
            ));
        }
    };
    let hosts: Vec<_> = hosts.split(',').collect();
    if ports.len() > 1 && ports.len() != hosts.len() {
        return Err(invalid("it has more or fewer ports than hosts"));
    }
    let hosts = hosts.into_iter().zip(ports.into_iter().cycle());
    hosts.map(|(host, port)| address(host, port)).collect()
}

fn address(text: &str, port: u16) -> Result<Address, SetupError> {
    let path = decode(text)?;
    // A host that begins with a slash is the folder of a socket.
    if path.starts_with('/') {
        let (folder, port) = match path.rsplit_once(':') {
            Some((folder, given)) => (folder, number(given).unwrap_or(port)),
            None => (&*path, port),
        };
        let socket = Path::new(folder).join(format!(".s.PGSQL.{port}"));
        return Ok(Address::Unix(socket));
    }
    match text.parse::<Ipv6Addr>() {
        Ok(_) => host_and_port(&format!("[{text}]"), port),
        Err(_) => host_and_port(text, port),
    }
}

/// `sslmode` and what belongs to it. The names of our other engines work too: `ca`, `cert`, `key`.
fn tls(url: &mut Url<'_>, config: &mut Config) -> Result<(TlsMode, Tls), SetupError> {
    let asked = one_of(url, "sslmode", &MODES)?;
    let binding = one_of(url, "channel_binding", &BINDINGS)?;
    let mut file =
        |name, ours| -> Result<_, SetupError> { Ok(url.file(name)?.or(url.file(ours)?)) };
    let ca = file("sslrootcert", "ca")?;
    let identity = match (file("sslcert", "cert")?, file("sslkey", "key")?) {
        (Some(cert), Some(key)) => Some((cert, key)),
        (None, None) => None,
        _ => return Err(invalid("`sslcert` and `sslkey` only make sense together")),
    };
    let is_of_system = ca.as_ref().is_some_and(|ca| ca.as_os_str() == "system");
    let mode = match (asked, &ca) {
        _ if is_of_system => TlsMode::VerifyFull,
        // As libpq: who names an authority wants to know the server.
        (Some(TlsMode::Require), Some(_)) => TlsMode::VerifyCa,
        (asked, _) => asked.unwrap_or(TlsMode::Prefer),
    };
    let needs = mode >= TlsMode::Require || binding == Some(ChannelBinding::Require);
    if needs && !cfg!(feature = "tls-no-provider") {
        return Err(SetupError::unsupported(
            "postgres",
            "this program was built without TLS: run `cargo add auto-mutex --features tls`",
        ));
    }
    if let Some(binding) = binding {
        config.channel_binding(binding);
    }
    let tls = Tls {
        ca: ca.filter(|_| !is_of_system),
        identity,
        server_name: text(url, "server_name"),
        #[cfg(feature = "tls-no-provider")]
        verifier: crate::socket::verifier(mode),
    };
    Ok((mode, tls))
}
