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
use crate::engine::{Hears, Postgres};

/// A waiter that is first in line must ask before it is passed over.
const SLOWEST_POLL: Duration = Duration::from_millis(1100);
const FASTEST_POLL: Duration = Duration::from_millis(10);
/// Parameters of libpq without an effect here: sockets are always kept alive, `Config::connect_timeout` limits the set-up,
/// and locks need the server that takes writes.
const IGNORED: &str = "client_encoding connect_timeout gssencmode keepalives keepalives_count keepalives_idle keepalives_interval \
    load_balance_hosts sslsni tcp_user_timeout";

pub(crate) fn parse(_: &str, rest: &str) -> Parsed {
    let mut url = split(rest)?;
    let listener = text(&mut url, "listen_url");
    let poll = text(&mut url, "poll").map(|text| poll(&text)).transpose()?;
    let mut postgres = one(url)?;
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

fn split(rest: &str) -> Result<Url<'_>, SetupError> {
    match rest.contains("%00") {
        true => Err(invalid("it contains `%00`, which PostgreSQL does not know")),
        false => Url::split(rest),
    }
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

fn of_listener(url: &str) -> Result<Postgres, SetupError> {
    match url.split_once("://") {
        Some(("postgres" | "postgresql", rest)) => one(split(rest)?),
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

/// `[user[:password]@][host[:port],…][/database][?parameter=value&…]`
fn one(mut url: Url<'_>) -> Result<Postgres, SetupError> {
    let (user, password, hosts) = url.login()?;
    let database = decode(url.path)?;
    let mut postgres = Postgres::at(servers(&mut url, hosts)?);
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
    postgres.pass_file = url.file("passfile")?;
    postgres.tls = tls(&mut url, &mut postgres.config)?;
    let session = [("any", ()), ("read-write", ()), ("primary", ())];
    one_of(&mut url, "target_session_attrs", &session)?;
    for key in IGNORED.split(' ') {
        url.take(key);
    }
    url.finish()?;
    Ok(postgres)
}
