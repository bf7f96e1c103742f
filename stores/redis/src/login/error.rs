//! What a server's reply means for its connection.

use auto_mutex_core::StoreError;
pub(crate) use auto_mutex_core::store::ConnectError;
use auto_mutex_core::store::{StoreErrorKind, Trouble};

use super::unsuitable;
use crate::error::{self, Code};
use crate::script::reply;
use crate::wire::Value;

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
        _ => match unsuitable::advice(&error) {
            Some(advice) => ConnectError::Unsuitable(advice.into(), error),
            None => ConnectError::Unreachable(Trouble::Unreachable, error),
        },
    }
}

pub(crate) fn nonsense() -> ConnectError {
    ConnectError::Unreachable(Trouble::Unreachable, reply::nonsense())
}
