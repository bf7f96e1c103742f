//! Who answers: version, role, mode, and what it does when its memory is full.

use redis::Value;

use super::error;
use super::link::Link;
use super::refusal::Refusal;
use crate::config::Address;

/// The oldest version with all commands of the scripts.
const OLDEST: (u32, u32) = (6, 2);

/// Checks the reply to HELLO, which every user may send.
pub(super) fn greeting(reply: &Value) -> Result<(), Refusal> {
    let fields = match reply {
        Value::Map(fields) => fields.as_slice(),
        Value::ServerError(error) => return Err(Refusal::of(error::of_server(error))),
        _ => &[],
    };
    let field = |name: &str| {
        let found = fields
            .iter()
            .find(|(key, _)| text(key).as_deref() == Some(name));
        found.and_then(|(_, value)| text(value)).unwrap_or_default()
    };
    let version = field("version");
    if !is_new_enough(&version) {
        return Err(Refusal::Version(version));
    }
    match field("mode").as_str() {
        "cluster" => return Err(Refusal::Cluster),
        "sentinel" => return Err(Refusal::Role("sentinel".to_owned())),
        _ => {}
    }
    match field("role") {
        role if role == "master" || role.is_empty() => Ok(()),
        role => Err(Refusal::Role(role)),
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

/// Warns of a server that evicts keys; stays quiet if it does not say.
pub(super) async fn memory_policy(link: &mut Link, address: &Address) {
    let mut question = redis::pipe();
    question.cmd("INFO").arg("memory");
    let Ok(replies) = link.exchange(&question).await else {
        return;
    };
    let Some(info) = replies.first().and_then(text) else {
        return;
    };
    let policy = info
        .lines()
        .find_map(|line| line.strip_prefix("maxmemory_policy:"));
    if let Some(policy) = policy
        .map(str::trim)
        .filter(|policy| *policy != "noeviction")
    {
        tracing::warn!(
            %address,
            policy,
            "the lock store may evict locks when its memory is full: set maxmemory-policy to noeviction"
        );
    }
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::BulkString(bytes) => String::from_utf8(bytes.clone()).ok(),
        Value::SimpleString(text) | Value::VerbatimString { text, .. } => Some(text.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello(version: &str, mode: &str, role: &str) -> Value {
        let pair = |key: &str, value: &str| {
            (
                Value::BulkString(key.into()),
                Value::BulkString(value.into()),
            )
        };
        Value::Map(vec![
            pair("server", "redis"),
            pair("version", version),
            (Value::BulkString("proto".into()), Value::Int(3)),
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
}
