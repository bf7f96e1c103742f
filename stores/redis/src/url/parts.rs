//! The parts of a URL that all kinds of servers have.

use auto_mutex_core::SetupError;
use auto_mutex_core::store::{Layout, Url, host_and_port, invalid, socket::Tls};

use super::database;
use crate::RedisEndpoint;
use crate::access::Login;

/// `[user[:password]@]host[:port],…[/database]`
pub(super) fn endpoint(
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

pub(super) fn login(url: &mut Url<'_>, user: &'static str, password: &'static str) -> Login {
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
    match asked {
        true => super::tls_is_there().map(|()| Some(tls)),
        false => Ok(None),
    }
}

pub(super) fn finish(mut url: Url<'_>) -> Result<(), SetupError> {
    if let Some(protocol) = url.take("protocol")
        && !matches!(protocol.as_str(), "resp3" | "3")
    {
        return Err(invalid(
            "the protocol must be `resp3`: wake-ups arrive as its push messages",
        ));
    }
    url.finish()
}
