//! What a server's reply means for its connection, and the remedies for servers that cannot serve locks (see
//! `tests/tests/failures/managed.rs`).

use std::io;

use auto_mutex_seam::StoreError;
pub(crate) use auto_mutex_seam::store::ConnectError;
use auto_mutex_seam::store::{StoreErrorKind, Trouble};

use crate::error::{self, Code};
use crate::script::reply;
use crate::wire::{ErrorReply, Value};

pub(crate) fn accept(reply: Value<'_>) -> Result<Value<'_>, ConnectError> {
    accepted(&reply).map_err(refused)?;
    Ok(reply)
}

pub(crate) fn accepted(reply: &Value<'_>) -> Result<(), StoreError> {
    match reply {
        Value::Error(error) => Err(error::of_server(error)),
        _ => Ok(()),
    }
}

pub(crate) fn refused(error: StoreError) -> ConnectError {
    match Code::of_error(&error) {
        // NOSCRIPT: another client flushed the scripts during the set-up.
        Code::Loading | Code::ClusterDown | Code::TryAgain | Code::NoReplicas | Code::NoScript => {
            ConnectError::Unreachable(Trouble::Busy, error)
        }
        Code::ReadOnly | Code::MasterDown => ConnectError::Role("replica".to_owned()),
        Code::NoPerm => ConnectError::Permission(error),
        _ if error.kind() == StoreErrorKind::Forbidden => ConnectError::Authentication(error),
        _ => match advice(&error) {
            Some(advice) => ConnectError::Unsuitable(advice.into(), error),
            None => ConnectError::Unreachable(Trouble::Unreachable, error),
        },
    }
}

pub(crate) fn nonsense() -> ConnectError {
    ConnectError::Unreachable(Trouble::Unreachable, reply::nonsense())
}

const NO_HELLO: &str = "it does not know HELLO, because it is older than Redis 6, HELLO is renamed, or a proxy in \
     front of it speaks RESP2 only: connect directly to Redis 6.2 or newer";
const NO_RESP3: &str = "it speaks RESP2 only, but locks need RESP3 (HELLO 3): connect to the server itself instead \
     of a proxy, or enable RESP3 there (Redis Enterprise: `rladmin tune db`)";
const NO_COMMAND: &str = "it does not know a command that locks need, because `rename-command`, the service or a \
     proxy disables it: enable the commands that `auto_mutex::acl_rule` lists";
pub(crate) const NO_WAIT: &str =
    "it does not know WAIT, so what its replicas have is unknown: leave out `Config::replicas`";
const NOT_IN_SCRIPTS: &str = "its scripts may not call a command that locks need (Redis Enterprise, Redis Cloud and \
     Azure Managed Redis refuse INFO in scripts, so failovers go unnoticed): use Redis or Valkey itself, or accept \
     this with `Config::trust_failover` and without `Config::restart_guard`";
const UNDECLARED_KEYS: &str = "its scripts may use only declared keys, but locks derive further keys from the first \
     one: start Dragonfly with `--default_lua_flags=allow-undeclared-keys`";

const KNOWN: &[(&str, &str)] = &[
    ("unknown command", NO_COMMAND),
    ("command called from", NO_COMMAND),
    ("not allowed from script", NOT_IN_SCRIPTS),
    ("accessing undeclared key", UNDECLARED_KEYS),
];

fn advice(error: &StoreError) -> Option<&'static str> {
    if error.kind() != StoreErrorKind::Refused {
        return None;
    }
    let text = error.details();
    let known = KNOWN.iter().find(|(part, _)| text.contains(part));
    known.map(|(_, advice)| *advice)
}

/// For an answer to HELLO. Omits the server's text, which may repeat the password.
pub(crate) fn of_hello(reply: &ErrorReply<'_>) -> Option<(&'static str, StoreError)> {
    let text = reply.details.to_ascii_lowercase();
    let advice = if Code::of(reply) == Code::NoProto || text.contains("unsupported protocol") {
        NO_RESP3
    } else if text.contains("unknown command") || text.contains("unsupported command") {
        NO_HELLO
    } else {
        return None;
    };
    let error = StoreError::of_server(StoreErrorKind::Refused, &reply.code, "HELLO 3 is refused");
    Some((advice, error))
}

/// Some proxies close the connection on an unknown command.
pub(crate) fn of_end(error: &io::Error) -> Option<StoreError> {
    (error.kind() == io::ErrorKind::UnexpectedEof).then(|| {
        StoreError::disconnected(
            "the server closed the connection at HELLO 3, as a proxy does that speaks RESP2 only: locks need RESP3, so connect to the server itself",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<&'static str> {
        advice(&error::of_server(&ErrorReply::new(text.as_bytes())))
    }

    #[test]
    fn every_refusal_on_record_has_its_advice() {
        for (text, wanted) in [
            (
                "ERR unknown command 'EVALSHA', with args beginning with: 'a' '0' ",
                NO_COMMAND,
            ),
            (
                "ERR unknown command `PUBLISH`, with args beginning with: ",
                NO_COMMAND,
            ),
            (
                "ERR Error running script (call to f_6b1b): @user_script:12: @user_script: 12: Unknown Redis command called from Lua script ",
                NO_COMMAND,
            ),
            (
                "ERR Unknown Redis command called from script script: 6b1b, on @user_script:12.",
                NO_COMMAND,
            ),
            (
                "ERR Error running script (call to f_7574): @user_script:19: @user_script: 19: This Redis command is not allowed from scripts",
                NOT_IN_SCRIPTS,
            ),
            (
                "ERR This Redis command is not allowed from script script: 6b1b, on @user_script:4.",
                NOT_IN_SCRIPTS,
            ),
            (
                "ERR Error running script (call to 5c4d): @user_script:2: script tried accessing undeclared key, key: k",
                UNDECLARED_KEYS,
            ),
        ] {
            assert_eq!(of(text), Some(wanted), "{text}");
        }
        for other in [
            "ERR max number of clients reached",
            "NOPERM this user has no permissions to run the 'config|get' command",
            "OOM command not allowed when used memory > 'maxmemory'.",
        ] {
            assert_eq!(of(other), None, "{other}");
        }
    }

    #[test]
    fn an_answer_to_hello_is_not_repeated() {
        for text in [
            "NOPROTO unsupported protocol version",
            "NOPROTO sorry, this protocol version is not supported",
            "ERR unknown command `HELLO`, with args beginning with: `3`, `AUTH`, `default`, `canary`, ",
            "ERR unsupported command 'hello' canary",
        ] {
            let (_, error) = of_hello(&ErrorReply::new(text.as_bytes())).unwrap();
            assert!(!format!("{error} {error:?}").contains("canary"), "{error}");
        }
        assert!(of_hello(&ErrorReply::new(b"ERR max number of clients reached")).is_none());
    }
}
