//! Who answers: version, role, mode.

use super::error;
use super::refusal::Refusal;
use super::wire::Value;

/// The oldest version with all commands of the scripts.
const OLDEST: (u32, u32) = (6, 2);

/// What a server is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// A primary on its own, or with replicas.
    Alone,
    /// A primary of a cluster.
    Primary,
    /// Any node of a cluster.
    Node,
}

/// Checks the reply to HELLO, which every user may send.
pub(super) fn greeting(reply: &Value<'_>, part: Part) -> Result<(), Refusal> {
    let fields = match reply {
        Value::Map(fields) => fields.as_slice(),
        // Its text repeats the arguments, and one of them may be a password.
        Value::Error(error) if error.details.starts_with("unknown command") => {
            return Err(Refusal::Version("older than 6.0".to_owned()));
        }
        Value::Error(error) => return Err(Refusal::of(error::of_server(error))),
        _ => &[],
    };
    let field = |name: &str| {
        let found = fields.iter().find(|(key, _)| text(key) == Some(name));
        found.and_then(|(_, value)| text(value)).unwrap_or_default()
    };
    let version = field("version");
    if !is_new_enough(version) {
        return Err(Refusal::Version(version.to_owned()));
    }
    match (field("mode"), part) {
        ("sentinel", _) => return Err(Refusal::Role("sentinel".to_owned())),
        ("cluster", Part::Alone) => return Err(Refusal::Cluster),
        ("standalone", Part::Primary | Part::Node) => return Err(Refusal::NoCluster),
        _ => {}
    }
    match field("role") {
        "master" | "" => Ok(()),
        _ if part == Part::Node => Ok(()),
        role => Err(Refusal::Role(role.to_owned())),
    }
}

/// A version that cannot be read belongs to some relative of Redis: the probe decides.
fn is_new_enough(version: &str) -> bool {
    let mut numbers = version
        .split('.')
        .map_while(|number| number.parse::<u32>().ok());
    match (numbers.next(), numbers.next()) {
        (Some(major), Some(minor)) => (major, minor) >= OLDEST,
        _ => true,
    }
}

fn text<'a>(value: &Value<'a>) -> Option<&'a str> {
    match value {
        Value::Text(bytes) => std::str::from_utf8(bytes).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::wire::ErrorReply;
    use super::*;

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

    #[test]
    fn a_primary_of_a_supported_version_is_accepted() {
        for version in ["6.2.0", "6.2", "7.0.15", "8.1.1", "10.0", "unstable"] {
            assert!(
                greeting(&hello(version, "standalone", "master"), Part::Alone).is_ok(),
                "{version}"
            );
        }
    }

    #[test]
    fn everything_else_is_refused() {
        for version in ["6.0.16", "5.0.7", "2.8"] {
            let refusal =
                greeting(&hello(version, "standalone", "master"), Part::Alone).unwrap_err();
            assert!(matches!(refusal, Refusal::Version(found) if found == version));
        }
        let refusal = greeting(&hello("7.0.15", "standalone", "replica"), Part::Alone).unwrap_err();
        assert!(matches!(refusal, Refusal::Role(role) if role == "replica"));
        let refusal = greeting(&hello("7.0.15", "sentinel", "master"), Part::Alone).unwrap_err();
        assert!(matches!(refusal, Refusal::Role(role) if role == "sentinel"));
        let refusal = greeting(&hello("7.0.15", "cluster", "master"), Part::Alone).unwrap_err();
        assert!(matches!(refusal, Refusal::Cluster));
        let refusal =
            greeting(&hello("7.0.15", "standalone", "master"), Part::Primary).unwrap_err();
        assert!(matches!(refusal, Refusal::NoCluster));
        let refusal = greeting(&hello("7.0.15", "cluster", "replica"), Part::Primary).unwrap_err();
        assert!(matches!(refusal, Refusal::Role(role) if role == "replica"));
    }

    #[test]
    fn nodes_of_a_cluster_are_accepted_where_one_is_wanted() {
        let [primary, replica] = ["master", "replica"].map(|role| hello("6.2.6", "cluster", role));
        assert!(greeting(&primary, Part::Primary).is_ok());
        assert!(greeting(&primary, Part::Node).is_ok());
        assert!(greeting(&replica, Part::Node).is_ok());
    }

    #[test]
    fn a_server_that_is_too_old_to_greet_repeats_no_password() {
        let text = b"ERR unknown command `HELLO`, with args beginning with: `3`, `AUTH`, `default`, `canary`, ";
        let refusal = greeting(&Value::Error(ErrorReply::new(text)), Part::Alone).unwrap_err();
        assert!(matches!(&refusal, Refusal::Version(_)), "{refusal:?}");
        assert!(!format!("{refusal:?}").contains("canary"));
    }
}
