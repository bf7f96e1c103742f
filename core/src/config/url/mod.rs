//! Parses the URL of a store into an [`Endpoint`]: this file parses each scheme, `parts` the parts that the schemes
//! share, `authority` the logins and servers.
//!
//! No error repeats any part of the URL: if a password has a character that should have been escaped, a piece of the
//! password may be in any part.

mod authority;
mod parts;
#[cfg(repository)]
#[cfg(test)]
mod tests;
mod text;

use std::collections::HashSet;
use std::path::PathBuf;

use self::parts::Url;
use self::text::{database, decode, invalid};
use super::endpoint::{
    Access, Address, ClusterEndpoint, Endpoint, Login, RedisEndpoint, SentinelEndpoint,
};
use crate::error::SetupError;

const SERVER_PORT: u16 = 6379;
const SENTINEL_PORT: u16 = 26379;

pub(super) fn parse(url: &str) -> Result<Endpoint, SetupError> {
    let Some((scheme, rest)) = url.split_once("://") else {
        return Err(invalid(
            "it has no scheme; write for example `redis://127.0.0.1:6379` or `memory://`",
        ));
    };
    match scheme.to_ascii_lowercase().as_str() {
        "memory" => memory(rest),
        "redis" | "valkey" => tcp(rest, false).map(Endpoint::Redis),
        "rediss" | "valkeys" => tcp(rest, true).map(Endpoint::Redis),
        "unix" | "redis+unix" | "valkey+unix" => unix(rest).map(Endpoint::Redis),
        "redis-sentinel" => sentinel(rest).map(Endpoint::Sentinel),
        "redis-cluster" => cluster(rest).map(Endpoint::Cluster),
        "redlock" => quorum(rest).map(Endpoint::Quorum),
        _ => Err(invalid(
            "the scheme is unknown; use `redis://`, `rediss://`, `valkey://`, `valkeys://`, `unix://`, \
             `redis-sentinel://`, `redis-cluster://`, `redlock://` or `memory://`",
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
    let (servers, access) = servers(rest, secure)?;
    let [address] = <[Address; 1]>::try_from(servers).map_err(|_| {
        invalid(
            "it names several servers; say what they are: `redis-sentinel://`, `redis-cluster://` or `redlock://`",
        )
    })?;
    Ok(RedisEndpoint { address, access })
}

fn cluster(rest: &str) -> Result<ClusterEndpoint, SetupError> {
    let (nodes, access) = servers(rest, false)?;
    if access.db != 0 {
        return Err(invalid("a Redis Cluster has no databases but 0"));
    }
    Ok(ClusterEndpoint { nodes, access })
}

fn quorum(rest: &str) -> Result<Vec<RedisEndpoint>, SetupError> {
    let (servers, access) = servers(rest, false)?;
    let nodes = servers.into_iter().map(|address| RedisEndpoint {
        address,
        access: access.clone(),
    });
    checked_quorum(nodes.collect())
}

/// `[user[:password]@]host[:port],…[/database]`
fn servers(rest: &str, secure: bool) -> Result<(Vec<Address>, Access), SetupError> {
    let url = Url::split(rest)?;
    let (login, servers) = url.servers(SERVER_PORT)?;
    let db = url.path;
    Ok((servers, url.access(login, db, secure)?))
}

fn sentinel(rest: &str) -> Result<SentinelEndpoint, SetupError> {
    let mut url = Url::split(rest)?;
    let (login, sentinels) = url.servers(SENTINEL_PORT)?;
    let (service, db) = url.path.split_once('/').unwrap_or((url.path, ""));
    let service = decode(service)?;
    if service.is_empty() || service.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err(invalid(
            "the name of the service is missing: `redis-sentinel://host1,host2/mymaster`",
        ));
    }
    Ok(SentinelEndpoint {
        sentinels,
        login: Login::new(url.secret("sentinel_user"), url.secret("sentinel_pass")),
        service,
        access: url.access(login, db, false)?,
    })
}

fn unix(rest: &str) -> Result<RedisEndpoint, SetupError> {
    let mut url = Url::split(rest)?;
    let path = decode(url.whole)?;
    if !path.starts_with('/') {
        return Err(invalid(
            "the path of the socket must be absolute: `unix:///run/redis/redis.sock`",
        ));
    }
    if path.len() == 1 || path.contains('\0') {
        return Err(invalid("the path of the socket cannot be a socket's"));
    }
    let access = Access {
        login: Login::new(url.secret("user"), url.secret("pass")),
        db: database(&url.take("db").unwrap_or_default())?,
        ..Access::default()
    };
    url.finish()?;
    Ok(RedisEndpoint {
        address: Address::Unix(PathBuf::from(path)),
        access,
    })
}

/// Parses the URLs of the servers of a quorum.
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
    checked_quorum(nodes).map(Endpoint::Quorum)
}

const LARGEST_QUORUM: usize = 15;

/// Checks that `nodes` can form a quorum: an odd number of different servers.
fn checked_quorum(nodes: Vec<RedisEndpoint>) -> Result<Vec<RedisEndpoint>, SetupError> {
    if nodes.len() < 3 || nodes.len().is_multiple_of(2) || nodes.len() > LARGEST_QUORUM {
        return Err(invalid(
            "a quorum needs 3, 5, 7 … 15 servers: an even one more only makes it weaker",
        ));
    }
    let addresses: HashSet<_> = nodes.iter().map(|node| &node.address).collect();
    if addresses.len() < nodes.len() {
        return Err(invalid("a server of the quorum is named twice"));
    }
    Ok(nodes)
}
