//! HELLO: logs in, and checks version, mode and role of the server.

use super::super::error;
use super::error::ConnectError;
use crate::config::{Access, Address, Login};
use crate::wire::{Connection, Limits, Value, Words};

/// The oldest version with all commands that the scripts use.
const OLDEST: (u32, u32) = (6, 2);

/// Connects and sends `hello`, a command that [`write`] begins. Returns the role of the server. Fails if a cluster
/// node is expected and the server is none, or if a single server is expected and it is a cluster node.
pub(super) async fn open(
    address: &Address,
    access: &Access,
    in_cluster: bool,
    hello: &[u8],
    limits: Limits,
) -> Result<(Connection, String), ConnectError> {
    let mut connection = Connection::open(address, access.tls.as_ref(), limits).await?;
    connection.send(hello).await?;
    let role = role(&connection.reply().await?, in_cluster)?.to_owned();
    Ok((connection, role))
}

/// Writes the start of HELLO: the protocol version and the login.
pub(in super::super) fn write(words: &mut Words<'_>, who: &Login) {
    words.texts(&["HELLO", "3"]);
    if let Some(password) = &who.password {
        words.text("AUTH");
        let user = who.user.as_ref();
        words.text(user.map_or("default", |user| user.expose()));
        words.text(password.expose());
    }
}

/// Checks version and mode in the reply to HELLO, which every user may send, and returns the role.
pub(in super::super) fn role<'a>(
    reply: &'a Value<'_>,
    in_cluster: bool,
) -> Result<&'a str, ConnectError> {
    if let Value::Error(error) = reply {
        // Leaves out the server's own text, which repeats the arguments: one of them may be a password.
        if error.details.starts_with("unknown command") {
            return Err(ConnectError::Version("older than 6.0".to_owned()));
        }
        return Err(ConnectError::of(error::of_server(error)));
    }
    let field = |name| {
        reply
            .field(name)
            .and_then(Value::as_text)
            .unwrap_or_default()
    };
    let version = field("version");
    if !is_new_enough(version) {
        return Err(ConnectError::Version(version.to_owned()));
    }
    match (field("mode"), in_cluster) {
        ("sentinel", _) => Err(ConnectError::Role("sentinel".to_owned())),
        ("cluster", false) => Err(ConnectError::Cluster),
        ("standalone", true) => Err(ConnectError::NoCluster),
        _ => Ok(field("role")),
    }
}

/// Refuses every role but that of a primary. Some servers that are compatible with Redis report none.
pub(super) fn accept_primary(role: &str) -> Result<(), ConnectError> {
    match role {
        "master" | "" => Ok(()),
        role => Err(ConnectError::Role(role.to_owned())),
    }
}

/// A version that cannot be parsed counts as new enough. It belongs to another server that is compatible with Redis,
/// and the probe will show whether it has the commands.
fn is_new_enough(version: &str) -> bool {
    let mut numbers = version
        .split('.')
        .map_while(|number| number.parse::<u32>().ok());
    match (numbers.next(), numbers.next()) {
        (Some(major), Some(minor)) => (major, minor) >= OLDEST,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::ErrorReply;

    fn hello<'a>(version: &'a str, mode: &'a str, role: &'a str) -> Value<'a> {
        fn pair<'a>(key: &'a str, value: &'a str) -> (Value<'a>, Value<'a>) {
            (Value::Text(key.as_bytes()), Value::Text(value.as_bytes()))
        }
        Value::Map(vec![
            pair("server", "redis"),
            pair("version", version),
            (Value::Text(b"proto"), Value::Integer(3)),
            pair("mode", mode),
            pair("role", role),
        ])
    }

    /// Like [`role`], for a primary.
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
        assert!(matches!(error, ConnectError::Cluster));
        let error = checked(&hello("7.0.15", "standalone", "master"), true).unwrap_err();
        assert!(matches!(error, ConnectError::NoCluster));
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
        assert!(matches!(&error, ConnectError::Version(_)), "{error:?}");
        assert!(!format!("{error:?}").contains("canary"));
    }
}
