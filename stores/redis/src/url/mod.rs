//! Parses the URL of one server or of a service.
//!
//! No error repeats any part of the URL, because each may contain a piece of an unescaped password.

#[cfg(repository)]
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;

use auto_mutex_net::{Url, host_and_port, number, socket::Tls};
use auto_mutex_seam::SetupError;
use auto_mutex_seam::store::{Address, Layout, Parsed, decode, invalid};

use crate::RedisEndpoint;
use crate::login::renewal::Login;

const SERVER_PORT: u16 = 6379;
const SENTINEL_PORT: u16 = 26379;

pub(super) fn parse(scheme: &str, rest: &str) -> Parsed {
    let endpoint = match scheme {
        "redis-sentinel" => sentinel(rest),
        "redis-cluster" => cluster(rest),
        "rediss" | "valkeys" => tcp(rest, true),
        "redis" | "valkey" => tcp(rest, false),
        _ => unix(rest),
    };
    Ok(Arc::new(endpoint?))
}

fn tcp(rest: &str, secure: bool) -> Result<RedisEndpoint, SetupError> {
    let url = Url::split(rest)?;
    let db = url.path;
    let endpoint = endpoint(url, Layout::OneServer, SERVER_PORT, db, secure)?;
    if endpoint.servers.len() > 1 {
        return Err(invalid(
            "it names several servers; say what they are: `redis-sentinel://`, `redis-cluster://` or `redlock://`",
        ));
    }
    Ok(endpoint)
}

fn cluster(rest: &str) -> Result<RedisEndpoint, SetupError> {
    if !cfg!(feature = "cluster") {
        let reason = "turn on the feature `cluster` of the crate auto-mutex";
        return Err(SetupError::unsupported("redis-cluster", reason));
    }
    let url = Url::split(rest)?;
    let db = url.path;
    let endpoint = endpoint(url, Layout::Sharded, SERVER_PORT, db, false)?;
    match endpoint.db {
        0 => Ok(endpoint),
        _ => Err(invalid(
            "a Redis Cluster has no databases but 0: leave out the number",
        )),
    }
}

fn sentinel(rest: &str) -> Result<RedisEndpoint, SetupError> {
    let mut url = Url::split(rest)?;
    let (service, db) = url.path.split_once('/').unwrap_or((url.path, ""));
    let service = decode(service)?;
    if service.is_empty() || service.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err(invalid(
            "the name of the service is missing: `redis-sentinel://host1,host2/mymaster`",
        ));
    }
    Ok(RedisEndpoint {
        service,
        sentinel_login: login(&mut url, "sentinel_user", "sentinel_pass"),
        ..endpoint(url, Layout::Failover, SENTINEL_PORT, db, false)?
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
        return Err(invalid(
            "the path of the socket is `/` alone or contains `%00`: give the path of a file",
        ));
    }
    let address = Address::Unix(PathBuf::from(path));
    let endpoint = RedisEndpoint {
        login: login(&mut url, "user", "pass"),
        db: database(&url.take("db").unwrap_or_default())?,
        ..RedisEndpoint::new(Layout::OneServer, vec![address])
    };
    finish(url)?;
    Ok(endpoint)
}

fn database(text: &str) -> Result<u32, SetupError> {
    // Redis stores the number of a database in a C `int`.
    match number::<u32>(text) {
        _ if text.is_empty() => Ok(0),
        Some(db) if i32::try_from(db).is_ok() => Ok(db),
        _ => Err(invalid("the database is not a number")),
    }
}

/// `[user[:password]@]host[:port],…[/database]`
fn endpoint(
    mut url: Url<'_>,
    layout: Layout,
    default_port: u16,
    db: &str,
    secure: bool,
) -> Result<RedisEndpoint, SetupError> {
    let (user, password, servers) = url.login()?;
    let servers = servers.split(',');
    let servers = servers.map(|server| host_and_port(server, default_port));
    let servers = servers.collect::<Result<_, _>>()?;
    let tls = tls(&mut url, secure)?;
    finish(url)?;
    Ok(RedisEndpoint {
        login: Login::new(user, password),
        db: database(db)?,
        tls,
        ..RedisEndpoint::new(layout, servers)
    })
}

fn login(url: &mut Url<'_>, user: &'static str, password: &'static str) -> Login {
    let mut text = |key| url.take(key).unwrap_or_default();
    Login::new(text(user), text(password))
}

#[allow(clippy::needless_update, reason = "with TLS, there is more")]
fn tls(url: &mut Url<'_>, secure: bool) -> Result<Option<Tls>, SetupError> {
    let asked = match url.take("tls").as_deref() {
        None => secure,
        Some("true") => true,
        Some("false") if !secure => false,
        Some("false") => return Err(invalid("`rediss://` is TLS: `tls=false` contradicts it")),
        Some(_) => return Err(invalid("`tls` is either `true` or `false`")),
    };
    let ca = url.file("ca")?;
    let identity = match (url.file("cert")?, url.file("key")?) {
        (Some(cert), Some(key)) => Some((cert, key)),
        (None, None) => None,
        _ => return Err(invalid("`cert` and `key` only make sense together")),
    };
    let server_name = url.take("server_name").filter(|name| !name.is_empty());
    let tls = Tls {
        ca,
        identity,
        server_name,
        ..Tls::default()
    };
    if !asked && tls != Tls::default() {
        return Err(invalid(
            "`ca`, `cert`, `key` and `server_name` need TLS: `rediss://`, or `tls=true`",
        ));
    }
    match (asked, cfg!(feature = "tls-no-provider")) {
        (false, _) => Ok(None),
        (true, true) => Ok(Some(tls)),
        (true, false) => Err(SetupError::unsupported(
            "rediss",
            "this program was built without TLS: run `cargo add auto-mutex --features tls`",
        )),
    }
}

fn finish(mut url: Url<'_>) -> Result<(), SetupError> {
    if let Some(protocol) = url.take("protocol")
        && !matches!(protocol.as_str(), "resp3" | "3")
    {
        return Err(invalid(
            "the protocol must be `resp3`: wake-ups arrive as its push messages",
        ));
    }
    url.finish()
}
