//! The URL of a store, taken apart into an [`Endpoint`].
//!
//! No error repeats any part of the URL: where a password holds a character that should have been escaped,
//! a part of it may be found anywhere.

use std::net::Ipv6Addr;
use std::path::PathBuf;

use percent_encoding::percent_decode_str;

use super::endpoint::{Address, Endpoint, RedisEndpoint};
use super::secret::Secret;
use crate::error::SetupError;

const DEFAULT_PORT: u16 = 6379;

/// Schemes that are understood but not served.
const LATER: &[(&str, &str)] = &[
    (
        "rediss",
        "TLS is not supported yet; use `redis://` over a private network or a tunnel",
    ),
    (
        "redis-sentinel",
        "Sentinel is not supported yet; use `redis://` with the primary's address",
    ),
    (
        "redis-cluster",
        "Redis Cluster is not supported yet; use `redis://` with a standalone server",
    ),
    (
        "redlock",
        "a quorum of servers is not supported yet; use `redis://` with one server",
    ),
];

/// Takes a URL apart.
pub(super) fn parse(url: &str) -> Result<Endpoint, SetupError> {
    let Some((scheme, rest)) = url.split_once("://") else {
        return Err(invalid(
            "it has no scheme; write for example `redis://127.0.0.1:6379` or `memory://`",
        ));
    };
    let scheme = scheme.to_ascii_lowercase();
    if let Some(&(scheme, reason)) = LATER.iter().find(|(later, _)| *later == scheme) {
        return Err(SetupError::UnsupportedStore {
            scheme: scheme.to_owned(),
            reason,
        });
    }
    match scheme.as_str() {
        "memory" => memory(rest),
        "redis" => tcp(rest).map(Endpoint::Redis),
        "unix" | "redis+unix" => unix(rest).map(Endpoint::Redis),
        _ => Err(invalid(
            "the scheme is unknown; use `redis://`, `unix://` or `memory://`",
        )),
    }
}

fn memory(name: &str) -> Result<Endpoint, SetupError> {
    if name.contains(['/', '?', '#', '@']) {
        return Err(invalid(
            "`memory://` takes nothing but a name: `memory://my-tests`",
        ));
    }
    let name = decode(name)?;
    Ok(Endpoint::Memory {
        shared: (!name.is_empty()).then_some(name),
    })
}

fn tcp(rest: &str) -> Result<RedisEndpoint, SetupError> {
    let (rest, query) = split_query(rest)?;
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    // The last `@`: an unescaped one in a password is harmless.
    let (credentials, server) = match authority.rsplit_once('@') {
        Some((credentials, server)) => (Some(credentials), server),
        None => (None, authority),
    };
    let (user, password) = credentials.map_or(Ok((None, None)), user_info)?;
    let mut endpoint = RedisEndpoint {
        address: host_and_port(server)?,
        user,
        password,
        db: if path.is_empty() { 0 } else { database(path)? },
    };
    for (key, value) in query {
        match key {
            "protocol" => protocol(&value)?,
            _ => return Err(unknown_parameter("`protocol`")),
        }
    }
    settle(&mut endpoint);
    Ok(endpoint)
}

fn unix(rest: &str) -> Result<RedisEndpoint, SetupError> {
    let (path, query) = split_query(rest)?;
    let path = decode(path)?;
    if !path.starts_with('/') {
        return Err(invalid(
            "the path of the socket must be absolute: `unix:///run/redis/redis.sock`",
        ));
    }
    if path.len() == 1 || path.contains('\0') {
        return Err(invalid("the path of the socket cannot be a socket's"));
    }
    let mut endpoint = RedisEndpoint {
        address: Address::Unix(PathBuf::from(path)),
        user: None,
        password: None,
        db: 0,
    };
    for (key, value) in query {
        match key {
            "db" => endpoint.db = database(&value)?,
            "user" => endpoint.user = non_empty(value),
            "pass" => endpoint.password = non_empty(value),
            "protocol" => protocol(&value)?,
            _ => return Err(unknown_parameter("`db`, `user`, `pass` and `protocol`")),
        }
    }
    settle(&mut endpoint);
    Ok(endpoint)
}

/// A user without a password logs in with an empty one, which suits a `nopass` user. (The client library
/// would not log in at all, and run as the default user.)
fn settle(endpoint: &mut RedisEndpoint) {
    if endpoint.user.is_some() && endpoint.password.is_none() {
        endpoint.password = Some(Secret::new(""));
    }
}

type Query<'a> = Vec<(&'a str, String)>;

fn split_query(rest: &str) -> Result<(&str, Query<'_>), SetupError> {
    if rest.contains('#') {
        return Err(invalid("it contains `#`; in a password write `%23`"));
    }
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let mut pairs = Query::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        if pairs.iter().any(|(earlier, _)| *earlier == key) {
            return Err(invalid("a query parameter is given twice"));
        }
        pairs.push((key, decode(value)?));
    }
    Ok((rest, pairs))
}

fn user_info(text: &str) -> Result<(Option<Secret>, Option<Secret>), SetupError> {
    let (user, password) = text.split_once(':').unwrap_or((text, ""));
    Ok((non_empty(decode(user)?), non_empty(decode(password)?)))
}

fn host_and_port(text: &str) -> Result<Address, SetupError> {
    let (host, port) = if let Some(rest) = text.strip_prefix('[') {
        let Some((host, port)) = rest.split_once(']') else {
            return Err(invalid("the IPv6 address has no closing bracket"));
        };
        if host.parse::<Ipv6Addr>().is_err() {
            return Err(invalid("what stands in brackets is not an IPv6 address"));
        }
        match port.strip_prefix(':') {
            Some(port) => (host, Some(port)),
            None if port.is_empty() => (host, None),
            None => return Err(invalid("only a port may follow the IPv6 address")),
        }
    } else {
        let (host, port) = match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        };
        if host.is_empty() {
            return Err(invalid("the host is missing"));
        }
        // Host names, also international ones and those with underscores, but nothing that splits a URL.
        let odd =
            |c: char| c.is_ascii() && !c.is_ascii_alphanumeric() && !matches!(c, '-' | '.' | '_');
        if host.contains(odd) || host.contains(char::is_whitespace) {
            return Err(invalid(
                "the host contains a character that no host name has; percent-encode those of the password",
            ));
        }
        (host, port)
    };
    let port = match port {
        None => DEFAULT_PORT,
        Some(port) => match number(port) {
            Some(port @ 1..) => port,
            _ => {
                return Err(invalid(
                    "the port is not a number from 1 to 65535 (write IPv6 addresses in brackets and \
                     percent-encode special characters of the password)",
                ));
            }
        },
    };
    Ok(Address::Tcp {
        host: host.to_owned(),
        port,
    })
}

fn database(text: &str) -> Result<u32, SetupError> {
    // The server's own limit is an int.
    match number::<u32>(text) {
        Some(db) if i32::try_from(db).is_ok() => Ok(db),
        _ => Err(invalid("the database is not a number")),
    }
}

fn protocol(text: &str) -> Result<(), SetupError> {
    match text {
        "resp3" | "3" => Ok(()),
        _ => Err(invalid(
            "the protocol must be `resp3`: wake-ups arrive as its push messages",
        )),
    }
}

/// Digits only: `FromStr` would take a sign.
fn number<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| text.parse().ok())
        .flatten()
}

fn decode(text: &str) -> Result<String, SetupError> {
    // The decoder lets a stray `%` pass; here it is a sign of an unescaped password.
    let escapes = text.split('%').skip(1);
    for escape in escapes {
        let hex = escape.as_bytes().get(..2);
        if !hex.is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit)) {
            return Err(invalid(
                "a `%` is not followed by two hexadecimal digits; write `%25` for the character itself",
            ));
        }
    }
    match percent_decode_str(text).decode_utf8() {
        Ok(text) => Ok(text.into_owned()),
        Err(_) => Err(invalid("what is percent-encoded is not UTF-8")),
    }
}

fn non_empty(text: String) -> Option<Secret> {
    (!text.is_empty()).then(|| Secret::new(text))
}

fn unknown_parameter(known: &str) -> SetupError {
    invalid(format!(
        "a query parameter is unknown; known are {known} (in a password write `?` as `%3F`)"
    ))
}

fn invalid(reason: impl Into<String>) -> SetupError {
    SetupError::InvalidUrl {
        reason: reason.into(),
    }
}

#[cfg(test)]
#[path = "url_tests.rs"]
mod tests;
