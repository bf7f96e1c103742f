//! Parses the URL of a server and its standbys, with the parameters of libpq and a few of our own.
//!
//! No error repeats any part of the URL, because each may contain a piece of an unescaped password.

mod servers;
mod tls;

use std::sync::Arc;
use std::time::Duration;

use auto_mutex_core::SetupError;
use auto_mutex_core::store::{Parsed, Url, decode, invalid};
use tokio_postgres::Config;

use self::servers::servers;
use self::tls::tls;
use crate::engine::Postgres;

/// A waiter that is first in line must ask before it is passed over.
const SLOWEST_POLL: Duration = Duration::from_millis(1100);
const FASTEST_POLL: Duration = Duration::from_millis(10);
/// Parameters of libpq without an effect here: sockets are always kept alive, `Config::connect_timeout` limits the set-up,
/// and locks need the server that takes writes.
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
    postgres.tls = tls(&mut url, &mut postgres.config)?;
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
