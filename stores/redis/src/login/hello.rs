//! HELLO: logs in, and checks the server's version, mode and role.

use std::io::{self, ErrorKind};

use auto_mutex_net::{USUAL_SILENCE, socket::Tls};
use auto_mutex_seam::TlsError;
use auto_mutex_seam::store::{Address, Granted, Trouble};
use redis::Cmd;
use tokio::time::Instant;

use super::error::{ConnectError, of_end, of_hello, refused};
use crate::RedisEndpoint;
use crate::error;
use crate::login::renewal::Login;
use crate::wire::{Connection, ErrorReply, Limits, Value};

const OLDEST: (u32, u32) = (6, 2);
const INTRODUCTIONS: (u32, u32) = (7, 2);

/// A malformed TLS handshake, which a server with TLS answers with an alert.
const HANDSHAKE: &[u8] = &[0x16, 3, 1, 0, 5, 1, 0, 0, 1, 0];

/// `name` is for `CLIENT LIST`, and requires a primary. Also returns whether the server has CLIENT SETINFO.
pub(crate) async fn open(
    address: &Address,
    endpoint: &RedisEndpoint,
    name: Option<&str>,
    limits: Limits,
) -> Result<(Connection, Granted, bool), ConnectError> {
    let (login, tls) = (&endpoint.login, endpoint.tls.as_ref());
    let (mut connection, granted) = dial(address, login, tls, limits).await?;
    let mut hello = command(&granted);
    if let Some(name) = name {
        hello.arg("SETNAME").arg(name);
    }
    let reply = greet(&mut connection, &hello, address, tls).await?;
    let role = role(&reply, endpoint.is_cluster())?;
    if name.is_some() {
        accept_primary(role)?;
    }
    let takes_introductions =
        numbers(field(&reply, "version")).is_some_and(|it| it >= INTRODUCTIONS);
    Ok((connection, granted, takes_introductions))
}

/// Asks the provider after connecting, so that the token is fresh, and only for servers that can be reached.
pub(crate) async fn dial(
    address: &Address,
    login: &Login,
    tls: Option<&Tls>,
    limits: Limits,
) -> Result<(Connection, Granted), ConnectError> {
    let connection = Connection::open(address, tls, limits).await?;
    // Slightly less than the remaining time, so that a slow provider causes an error of its own, not of the connection.
    let left = limits.end.saturating_duration_since(Instant::now());
    let granted = login.granted(address, left.mul_f64(0.9)).await;
    Ok((connection, granted.map_err(ConnectError::Credentials)?))
}

/// If the server closes the connection without a reply, looks for the cause on another one: a server that wants TLS
/// just closes a plain connection, and an alert can be lost with unread bytes.
pub(crate) async fn greet<'a>(
    connection: &'a mut Connection,
    hello: &Cmd,
    address: &Address,
    tls: Option<&Tls>,
) -> Result<Value<'a>, ConnectError> {
    let error = match connection.ask(hello).await {
        Ok(reply) => return Ok(reply),
        Err(error) => error,
    };
    if TlsError::of_io(&error).is_some() || error.kind() == ErrorKind::TimedOut {
        return Err(error.into());
    }
    let again = error_of_another(address, tls).await;
    if let Some(fault) = again.as_ref().and_then(TlsError::of_io) {
        return Err(ConnectError::Tls(fault.clone()));
    }
    // The server has just ended. It is no proxy that closes some connections.
    if let Some(gone) = again.filter(|it| it.kind() == ErrorKind::ConnectionRefused)
        && error.kind() == ErrorKind::UnexpectedEof
    {
        return Err(gone.into());
    }
    Err(match of_end(&error) {
        Some(error) => ConnectError::Unreachable(Trouble::Unreachable, error),
        None => error.into(),
    })
}

/// The error of another connection, on which the server gets something that is no command.
async fn error_of_another(address: &Address, tls: Option<&Tls>) -> Option<io::Error> {
    if matches!(address, Address::Unix(_)) {
        return None;
    }
    let limits = Limits::new(USUAL_SILENCE, USUAL_SILENCE);
    match Connection::open(address, tls, limits).await {
        Ok(mut connection) => {
            if tls.is_none() {
                connection.send(HANDSHAKE).await.ok()?;
            }
            connection.next().await.err()
        }
        Err(error) => Some(error),
    }
}

pub(crate) fn command(who: &Granted) -> Cmd {
    let mut hello = redis::cmd("HELLO");
    hello.arg("3");
    log_in(&mut hello, who);
    hello
}

pub(crate) fn auth(who: &Granted) -> Cmd {
    log_in(&mut Cmd::new(), who).take()
}

pub(crate) fn log_in<'a>(cmd: &'a mut Cmd, who: &Granted) -> &'a mut Cmd {
    if let Some(password) = &who.password {
        let user = who.user.as_ref();
        let user = user.map_or("default", |user| user.expose());
        cmd.arg("AUTH").arg(user).arg(password.expose());
    }
    cmd
}

pub(crate) fn role<'a>(reply: &'a Value<'_>, in_cluster: bool) -> Result<&'a str, ConnectError> {
    if let Value::Error(error) = reply {
        return Err(refusal(error));
    }
    let version = field(reply, "version");
    // Compatible servers may number their versions differently. `trial.rs` checks whether they can be used.
    if numbers(version).is_some_and(|it| it < OLDEST) {
        return Err(ConnectError::Version(version.to_owned()));
    }
    match (field(reply, "mode"), in_cluster) {
        ("sentinel", _) => Err(ConnectError::Role("sentinel".to_owned())),
        ("cluster", false) => Err(ConnectError::Scheme(
            "redis",
            "the server is a node of a Redis Cluster: use `redis-cluster://`",
        )),
        ("standalone", true) => Err(ConnectError::Scheme(
            "redis-cluster",
            "the server is not a node of a Redis Cluster: use `redis://`",
        )),
        _ => Ok(field(reply, "role")),
    }
}

fn field<'a>(reply: &'a Value<'_>, name: &str) -> &'a str {
    reply.field(name).unwrap_or_default()
}

pub(crate) fn refusal(error: &ErrorReply<'_>) -> ConnectError {
    match of_hello(error) {
        Some((advice, error)) => ConnectError::Unsuitable(advice.into(), error),
        None => refused(error::of_server(error)),
    }
}

/// Accepts only primaries. Compatible servers may report no role.
fn accept_primary(role: &str) -> Result<(), ConnectError> {
    match role {
        "master" | "" => Ok(()),
        role => Err(ConnectError::Role(role.to_owned())),
    }
}

fn numbers(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version
        .split('.')
        .map_while(|number| number.parse::<u32>().ok());
    Some((numbers.next()?, numbers.next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello<'a>(version: &'a str, mode: &'a str, role: &'a str) -> Value<'a> {
        let text = |text: &'a str| Value::Text(text.as_bytes());
        let pair = |key, value| [text(key), text(value)];
        let pairs = [
            pair("server", "redis"),
            pair("version", version),
            [Value::Text(b"proto"), Value::Integer(3)],
            pair("mode", mode),
            pair("role", role),
        ];
        Value::List(pairs.concat())
    }

    /// Like [`role`], but requires a primary.
    fn checked(reply: &Value<'_>, in_cluster: bool) -> Result<(), ConnectError> {
        accept_primary(role(reply, in_cluster)?)
    }

    #[test]
    fn a_primary_of_a_supported_version_is_accepted() {
        for version in ["6.2.0", "6.2", "7.0.15", "8.1.1", "10.0", "unstable"] {
            assert!(
                checked(&hello(version, "standalone", "master"), false).is_ok(),
                "{version}"
            );
        }
    }

    #[test]
    fn everything_else_is_refused() {
        for version in ["6.0.16", "5.0.7", "2.8"] {
            let error = checked(&hello(version, "standalone", "master"), false).unwrap_err();
            assert!(matches!(error, ConnectError::Version(found) if found == version));
        }
        let error = checked(&hello("7.0.15", "standalone", "replica"), false).unwrap_err();
        assert!(matches!(error, ConnectError::Role(role) if role == "replica"));
        let error = checked(&hello("7.0.15", "sentinel", "master"), false).unwrap_err();
        assert!(matches!(error, ConnectError::Role(role) if role == "sentinel"));
        let error = checked(&hello("7.0.15", "cluster", "master"), false).unwrap_err();
        assert!(matches!(error, ConnectError::Scheme("redis", _)));
        let error = checked(&hello("7.0.15", "standalone", "master"), true).unwrap_err();
        assert!(matches!(error, ConnectError::Scheme("redis-cluster", _)));
        let error = checked(&hello("7.0.15", "cluster", "replica"), true).unwrap_err();
        assert!(matches!(error, ConnectError::Role(role) if role == "replica"));
    }

    #[test]
    fn nodes_of_a_cluster_are_accepted_where_one_is_wanted() {
        let [primary, replica] = ["master", "replica"].map(|role| hello("6.2.6", "cluster", role));
        assert!(checked(&primary, true).is_ok());
        assert!(role(&primary, true).is_ok());
        assert!(role(&replica, true).is_ok());
    }

    #[test]
    fn a_server_that_is_too_old_to_greet_repeats_no_password() {
        let text = b"ERR unknown command `HELLO`, with args beginning with: `3`, `AUTH`, `default`, `canary`, ";
        let error = checked(&Value::Error(ErrorReply::new(text)), false).unwrap_err();
        assert!(matches!(&error, ConnectError::Unsuitable(..)), "{error:?}");
        assert!(!format!("{error:?}").contains("canary"));
    }
}
