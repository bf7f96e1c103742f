//! The URL of a store, taken apart into an [`Endpoint`]: here one scheme after the other, in `authority` who and where,
//! in `query` what stands behind the question mark.
//!
//! No error repeats any part of the URL: where a password holds a character that should have been escaped,
//! a part of it may be found anywhere.

mod authority;
mod query;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use percent_encoding::percent_decode_str;

use self::authority::Authority;
use self::query::Query;
use super::endpoint::{
    Access, Address, ClusterEndpoint, Endpoint, Login, QuorumEndpoint, RedisEndpoint,
    SentinelEndpoint,
};
use crate::error::SetupError;

const SERVER_PORT: u16 = 6379;
const SENTINEL_PORT: u16 = 26379;

/// Takes a URL apart.
pub(super) fn parse(url: &str) -> Result<Endpoint, SetupError> {
    let Some((scheme, rest)) = url.split_once("://") else {
        return Err(invalid(
            "it has no scheme; write for example `redis://127.0.0.1:6379` or `memory://`",
        ));
    };
    match scheme.to_ascii_lowercase().as_str() {
        "memory" => memory(rest),
        "redis" => tcp(rest, false).map(Endpoint::Redis),
        "rediss" => tcp(rest, true).map(Endpoint::Redis),
        "unix" | "redis+unix" => unix(rest).map(Endpoint::Redis),
        "redis-sentinel" => sentinel(rest).map(Endpoint::Sentinel),
        "redis-cluster" => cluster(rest).map(Endpoint::Cluster),
        "redlock" => quorum(rest).map(Endpoint::Quorum),
        _ => Err(invalid(
            "the scheme is unknown; use `redis://`, `rediss://`, `unix://`, `redis-sentinel://`, `redis-cluster://`, \
             `redlock://` or `memory://`",
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

fn tcp(rest: &str, secure: bool) -> Result<RedisEndpoint, SetupError> {
    let (rest, mut query) = Query::split(rest)?;
    let Authority { login, servers } = Authority::of(rest.authority, SERVER_PORT)?;
    let tls = query.tls(secure)?;
    query.finish()?;
    let [address] = <[Address; 1]>::try_from(servers).map_err(|_| {
        invalid(
            "it names several servers; say what they are: `redis-sentinel://`, `redis-cluster://` or `redlock://`",
        )
    })?;
    Ok(RedisEndpoint {
        address,
        access: Access {
            login,
            db: database(rest.path)?,
            tls,
        },
    })
}

fn unix(rest: &str) -> Result<RedisEndpoint, SetupError> {
    let (rest, mut query) = Query::split(rest)?;
    let path = decode(rest.whole)?;
    if !path.starts_with('/') {
        return Err(invalid(
            "the path of the socket must be absolute: `unix:///run/redis/redis.sock`",
        ));
    }
    if path.len() == 1 || path.contains('\0') {
        return Err(invalid("the path of the socket cannot be a socket's"));
    }
    let db = database(&query.take("db").unwrap_or_default())?;
    let login = Login::new(query.secret("user"), query.secret("pass"));
    query.finish()?;
    Ok(RedisEndpoint {
        address: Address::Unix(PathBuf::from(path)),
        access: Access {
            login,
            db,
            tls: None,
        },
    })
}

fn sentinel(rest: &str) -> Result<SentinelEndpoint, SetupError> {
    let (rest, mut query) = Query::split(rest)?;
    let Authority { login, servers } = Authority::of(rest.authority, SENTINEL_PORT)?;
    let (service, db) = rest.path.split_once('/').unwrap_or((rest.path, ""));
    let service = decode(service)?;
    if service.is_empty() || service.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err(invalid(
            "the name of the service is missing: `redis-sentinel://host1,host2/mymaster`",
        ));
    }
    let tls = query.tls(false)?;
    let of_sentinels = Login::new(query.secret("sentinel_user"), query.secret("sentinel_pass"));
    query.finish()?;
    Ok(SentinelEndpoint {
        sentinels: servers,
        login: of_sentinels,
        service,
        access: Access {
            login,
            db: database(db)?,
            tls,
        },
    })
}

fn cluster(rest: &str) -> Result<ClusterEndpoint, SetupError> {
    let (rest, mut query) = Query::split(rest)?;
    let Authority { login, servers } = Authority::of(rest.authority, SERVER_PORT)?;
    if database(rest.path)? != 0 {
        return Err(invalid("a Redis Cluster has no databases but 0"));
    }
    let tls = query.tls(false)?;
    query.finish()?;
    Ok(ClusterEndpoint {
        nodes: servers,
        access: Access { login, db: 0, tls },
    })
}

fn quorum(rest: &str) -> Result<QuorumEndpoint, SetupError> {
    let (rest, mut query) = Query::split(rest)?;
    let Authority { login, servers } = Authority::of(rest.authority, SERVER_PORT)?;
    let tls = query.tls(false)?;
    query.finish()?;
    let access = Access {
        login,
        db: database(rest.path)?,
        tls,
    };
    let nodes = servers.into_iter().map(|address| RedisEndpoint {
        address,
        access: access.clone(),
    });
    QuorumEndpoint::new(nodes.collect())
}

/// A quorum of servers, each with a URL of its own.
pub(super) fn several<U: AsRef<str>>(
    urls: impl IntoIterator<Item = U>,
) -> Result<Endpoint, SetupError> {
    let single = |url: U| match parse(url.as_ref())? {
        Endpoint::Redis(server) => Ok(server),
        _ => Err(invalid(
            "a quorum is made of single servers: `redis://`, `rediss://` or `unix://`",
        )),
    };
    let nodes = urls.into_iter().map(single).collect::<Result<_, _>>()?;
    QuorumEndpoint::new(nodes).map(Endpoint::Quorum)
}

impl QuorumEndpoint {
    const MOST: usize = 15;

    /// Checks that a majority of these means something.
    fn new(nodes: Vec<RedisEndpoint>) -> Result<Self, SetupError> {
        if nodes.len() < 3 || nodes.len().is_multiple_of(2) || nodes.len() > Self::MOST {
            return Err(invalid(
                "a quorum needs 3, 5, 7 … 15 servers: an even one more only makes it weaker",
            ));
        }
        let twice = |index: usize, node: &RedisEndpoint| {
            nodes[..index]
                .iter()
                .any(|earlier| earlier.address == node.address)
        };
        if nodes
            .iter()
            .enumerate()
            .any(|(index, node)| twice(index, node))
        {
            return Err(invalid("a server of the quorum is named twice"));
        }
        Ok(Self { nodes })
    }
}

/// Empty: the first one.
fn database(text: &str) -> Result<u32, SetupError> {
    // The server's own limit is an int.
    match number::<u32>(text) {
        _ if text.is_empty() => Ok(0),
        Some(db) if i32::try_from(db).is_ok() => Ok(db),
        _ => Err(invalid("the database is not a number")),
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

fn invalid(reason: impl Into<String>) -> SetupError {
    SetupError::InvalidUrl {
        reason: reason.into(),
    }
}
