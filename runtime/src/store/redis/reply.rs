//! What the scripts answer, made sense of.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use redis::Value;

use super::error;
use crate::error::{StoreError, StoreErrorKind};
use crate::store::{HolderRecord, MemberId, NameRecord, Reply, Ticket, TicketRecord};

/// The reply of a script; every reply that no script gives is an error.
pub(super) fn parse(value: Value) -> Result<Reply, StoreError> {
    if let Value::ServerError(error) = &value {
        return Err(error::of_server(error));
    }
    read(&value).ok_or_else(|| {
        StoreError::new(
            StoreErrorKind::Protocol,
            "the server's reply is not one of this library's scripts",
        )
    })
}

/// Whether the server has lost the scripts.
pub(super) fn is_no_script(value: &Value) -> bool {
    matches!(value, Value::ServerError(error) if error.code() == "NOSCRIPT")
}

fn read(value: &Value) -> Option<Reply> {
    match value {
        Value::Array(items) => {
            let (word, rest) = items.split_first()?;
            match (text(word)?, rest) {
                ("QUEUED", [position, again, token, meta]) => Some(Reply::Queued {
                    position: integer(position)?,
                    again: Duration::from_millis(integer(again)?),
                    holder: holder(token, meta)?,
                }),
                ("BUSY", [token, meta]) => Some(Reply::Busy {
                    holder: holder(token, meta)?,
                }),
                ("GRANTED", [token, signal]) => Some(Reply::Granted {
                    token: integer(token)?,
                    signal: Some(shared(signal)?),
                }),
                ("INFO", [token, capacity, used, signals, exists, holders, waiters]) => {
                    Some(Reply::Info(NameRecord {
                        token: integer(token)?,
                        capacity: optional(capacity)?,
                        used: integer(used)?,
                        signals: integer(signals)?,
                        exists: integer::<u8>(exists)? == 1,
                        holders: tickets(holders)?,
                        waiters: tickets(waiters)?,
                    }))
                }
                _ => None,
            }
        }
        value => words(text(value)?),
    }
}

fn words(text: &str) -> Option<Reply> {
    let (word, number) = text.split_once(' ').unwrap_or((text, ""));
    match (word, number) {
        ("GRANTED", token) => Some(Reply::Granted {
            token: token.parse().ok()?,
            signal: None,
        }),
        ("MISMATCH", capacity) => Some(Reply::Mismatch {
            capacity: capacity.parse().ok()?,
        }),
        ("FREED", holders) => Some(Reply::Freed {
            holders: holders.parse().ok()?,
        }),
        ("TOLD", holders) => Some(Reply::Told {
            holders: holders.parse().ok()?,
        }),
        ("SIGNALLED", count) => Some(Reply::Signalled {
            count: count.parse().ok()?,
        }),
        ("DELETED", existed) => Some(Reply::Deleted {
            existed: existed.parse::<u8>().ok()? == 1,
        }),
        ("IN_USE", counts) => {
            let (holders, waiters) = counts.split_once(' ')?;
            Some(Reply::InUse {
                holders: holders.parse().ok()?,
                waiters: waiters.parse().ok()?,
            })
        }
        ("RELEASED", free) => Some(Reply::Released {
            free: free.parse().ok()?,
        }),
        ("REFUSED", "") => Some(Reply::Refused),
        ("TOO_MANY", "") => Some(Reply::TooMany),
        ("GONE", "") => Some(Reply::Gone),
        ("CANCELLED", "") => Some(Reply::Cancelled),
        _ => None,
    }
}

/// The outer `None`: it makes no sense. The inner: nobody holds.
fn holder(token: &Value, meta: &Value) -> Option<Option<HolderRecord>> {
    if text(token)?.is_empty() {
        return Some(None);
    }
    Some(Some(HolderRecord {
        token: integer(token)?,
        meta: shared(meta)?.into(),
    }))
}

/// Empty: there is none.
fn optional<T: FromStr + TryFrom<i64>>(value: &Value) -> Option<Option<T>> {
    if text(value).is_some_and(str::is_empty) {
        return Some(None);
    }
    integer(value).map(Some)
}

fn tickets(value: &Value) -> Option<Vec<TicketRecord>> {
    let Value::Array(items) = value else {
        return None;
    };
    items.iter().map(ticket).collect()
}

fn ticket(value: &Value) -> Option<TicketRecord> {
    let Value::Array(items) = value else {
        return None;
    };
    let [ticket, member, units, token, meta, left, parked] = items.as_slice() else {
        return None;
    };
    Some(TicketRecord {
        ticket: Ticket::parse(text(ticket)?)?,
        member: MemberId::parse(text(member)?)?,
        units: integer(units)?,
        token: integer(token)?,
        meta: shared(meta)?.into(),
        left: Duration::from_micros(integer(left)?),
        parked: integer::<u8>(parked)? == 1,
    })
}

fn text(value: &Value) -> Option<&str> {
    match value {
        Value::BulkString(bytes) => std::str::from_utf8(bytes).ok(),
        Value::SimpleString(text) => Some(text),
        _ => None,
    }
}

fn shared(value: &Value) -> Option<Arc<str>> {
    text(value).map(Into::into)
}

fn integer<T: FromStr + TryFrom<i64>>(value: &Value) -> Option<T> {
    match value {
        Value::Int(number) => T::try_from(*number).ok(),
        value => text(value)?.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bulk(text: &str) -> Value {
        Value::BulkString(text.into())
    }

    #[test]
    fn replies_of_the_scripts_are_understood() {
        assert_eq!(
            parse(bulk("GRANTED 17")).unwrap(),
            Reply::Granted {
                token: 17,
                signal: None
            }
        );
        assert_eq!(parse(bulk("FREED 2")).unwrap(), Reply::Freed { holders: 2 });
        let items = vec![
            bulk("QUEUED"),
            Value::Int(2),
            Value::Int(9),
            bulk(""),
            bulk(""),
        ];
        let queued = Reply::Queued {
            position: 2,
            again: Duration::from_millis(9),
            holder: None,
        };
        assert_eq!(parse(Value::Array(items)).unwrap(), queued);
    }

    #[test]
    fn everything_else_is_an_error() {
        let table = [
            Value::Nil,
            Value::Okay,
            Value::Int(1),
            bulk(""),
            bulk("GRANTED"),
            bulk("GRANTED -1"),
            bulk("GRANTED 99999999999999999999999"),
            bulk("RELEASED"),
            Value::BulkString(vec![0xff]),
            Value::Array(vec![]),
            Value::Array(vec![bulk("GRANTED")]),
            Value::Array(vec![
                bulk("QUEUED"),
                Value::Int(-1),
                Value::Int(9),
                bulk(""),
                bulk(""),
            ]),
            Value::Array(vec![bulk("BUSY"), bulk("x"), bulk("")]),
            Value::Array(vec![
                bulk("INFO"),
                bulk("1"),
                Value::Int(1),
                Value::Int(1),
                Value::Int(0),
                bulk("1"),
                Value::Nil,
                Value::Array(vec![]),
            ]),
        ];
        for value in table {
            let error = parse(value.clone()).unwrap_err();
            assert_eq!(error.kind(), StoreErrorKind::Protocol, "{value:?}");
        }
    }
}
