//! Who answers: version, role, mode.

use super::error;
use super::refusal::Refusal;
use super::wire::Value;

/// The oldest version with all commands of the scripts.
const OLDEST: (u32, u32) = (6, 2);

/// Checks the reply to HELLO, which every user may send.
pub(super) fn greeting(reply: &Value<'_>) -> Result<(), Refusal> {
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
    match field("mode") {
        "cluster" => return Err(Refusal::Cluster),
        "sentinel" => return Err(Refusal::Role("sentinel".to_owned())),
        _ => {}
    }
    match field("role") {
        "master" | "" => Ok(()),
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
                greeting(&hello(version, "standalone", "master")).is_ok(),
                "{version}"
            );
        }
    }

    #[test]
    fn everything_else_is_refused() {
        for version in ["6.0.16", "5.0.7", "2.8"] {
            let refusal = greeting(&hello(version, "standalone", "master")).unwrap_err();
            assert!(matches!(refusal, Refusal::Version(found) if found == version));
        }
        let refusal = greeting(&hello("7.0.15", "standalone", "replica")).unwrap_err();
        assert!(matches!(refusal, Refusal::Role(role) if role == "replica"));
        let refusal = greeting(&hello("7.0.15", "sentinel", "master")).unwrap_err();
        assert!(matches!(refusal, Refusal::Role(role) if role == "sentinel"));
        let refusal = greeting(&hello("7.0.15", "cluster", "master")).unwrap_err();
        assert!(matches!(refusal, Refusal::Cluster));
    }

    #[test]
    fn a_server_that_is_too_old_to_greet_repeats_no_password() {
        let text = b"ERR unknown command `HELLO`, with args beginning with: `3`, `AUTH`, `default`, `canary`, ";
        let refusal = greeting(&Value::Error(ErrorReply::new(text))).unwrap_err();
        assert!(matches!(&refusal, Refusal::Version(_)), "{refusal:?}");
        assert!(!format!("{refusal:?}").contains("canary"));
    }
}
