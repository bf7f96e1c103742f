//! What the scripts answer, made sense of.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use super::error;
use super::wire::Value;
use crate::error::{StoreError, StoreErrorKind};
use crate::store::{HolderRecord, MemberId, NameRecord, Op, Reply, Ticket, TicketRecord};

/// The reply of a script to `op`; every reply that no script gives is an error.
pub(super) fn parse(value: &Value<'_>, op: &Op) -> Result<Reply, StoreError> {
    let reply = match value {
        Value::Error(error) => return Err(error::of_server(error)),
        Value::Integer(number) => counted(*number, op),
        value => read(value),
    };
    reply.ok_or_else(|| {
        StoreError::new(
            StoreErrorKind::Protocol,
            "the server's reply is not one of this library's scripts",
        )
    })
}

/// Whether the short way could not do it, or does not know what it found.
pub(super) fn is_undone(value: &Value<'_>) -> bool {
    match value {
        Value::Nil => true,
        Value::Error(error) => error::is_of_script(error),
        _ => false,
    }
}

/// The replies to a release and the `acquire` after it, of the one to both.
pub(super) fn of_cycle<'a>(value: Value<'a>, acquire: &Op) -> [Value<'a>; 2] {
    match (value, acquire) {
        // Granted, so all of it was free in between.
        (token @ Value::Integer(_), Op::Acquire { share, .. }) => {
            [Value::Integer(share.capacity.into()), token]
        }
        (Value::List(both), _) => match <[Value<'a>; 2]>::try_from(both) {
            Ok(both) => both,
            Err(other) => [Value::List(other), Value::Text(b"")],
        },
        (value, _) => [value.clone(), value],
    }
}

/// The short way answers what goes well with a number.
fn counted(number: i64, op: &Op) -> Option<Reply> {
    match op {
        Op::Acquire { .. } | Op::Touch { .. } => Some(Reply::Granted {
            token: number.try_into().ok()?,
            signal: None,
        }),
        Op::Release { .. } => Some(Reply::Released {
            free: number.try_into().ok()?,
        }),
        _ => None,
    }
}

fn read(value: &Value<'_>) -> Option<Reply> {
    match value {
        Value::List(items) => {
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
        ("QUEUED", rest) => {
            let mut words = rest.splitn(3, ' ');
            Some(Reply::Queued {
                position: words.next()?.parse().ok()?,
                again: Duration::from_millis(words.next()?.parse().ok()?),
                holder: Some(described(words.next()?)?),
            })
        }
        ("BUSY", holder) => Some(Reply::Busy {
            holder: Some(described(holder)?),
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

/// A token and the meta behind it.
fn described(text: &str) -> Option<HolderRecord> {
    let (token, meta) = text.split_once(' ')?;
    Some(HolderRecord {
        token: token.parse().ok()?,
        meta: meta.to_owned().into(),
    })
}

/// The outer `None`: it makes no sense. The inner: nobody holds.
fn holder(token: &Value<'_>, meta: &Value<'_>) -> Option<Option<HolderRecord>> {
    if text(token).is_some_and(str::is_empty) {
        return Some(None);
    }
    Some(Some(HolderRecord {
        token: integer(token)?,
        meta: shared(meta)?.into(),
    }))
}

/// Empty: there is none.
fn optional<T: FromStr + TryFrom<i64>>(value: &Value<'_>) -> Option<Option<T>> {
    if text(value).is_some_and(str::is_empty) {
        return Some(None);
    }
    integer(value).map(Some)
}

fn tickets(value: &Value<'_>) -> Option<Vec<TicketRecord>> {
    let Value::List(items) = value else {
        return None;
    };
    items.iter().map(ticket).collect()
}

fn ticket(value: &Value<'_>) -> Option<TicketRecord> {
    let Value::List(items) = value else {
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

fn text<'a>(value: &Value<'a>) -> Option<&'a str> {
    match value {
        Value::Text(bytes) => std::str::from_utf8(bytes).ok(),
        _ => None,
    }
}

fn shared(value: &Value<'_>) -> Option<Arc<str>> {
    text(value).map(Into::into)
}

fn integer<T: FromStr + TryFrom<i64>>(value: &Value<'_>) -> Option<T> {
    match value {
        Value::Integer(number) => T::try_from(*number).ok(),
        value => text(value)?.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bulk(text: &str) -> Value<'_> {
        Value::Text(text.as_bytes())
    }

    #[test]
    fn replies_of_the_scripts_are_understood() {
        assert_eq!(
            parse(&bulk("GRANTED 17"), &Op::Inspect).unwrap(),
            Reply::Granted {
                token: 17,
                signal: None
            }
        );
        assert_eq!(
            parse(&bulk("FREED 2"), &Op::Inspect).unwrap(),
            Reply::Freed { holders: 2 }
        );
        let items = vec![
            bulk("QUEUED"),
            Value::Integer(2),
            Value::Integer(9),
            bulk(""),
            bulk(""),
        ];
        let queued = Reply::Queued {
            position: 2,
            again: Duration::from_millis(9),
            holder: None,
        };
        assert_eq!(parse(&Value::List(items), &Op::Inspect).unwrap(), queued);
    }

    #[test]
    fn everything_else_is_an_error() {
        let table = [
            Value::Nil,
            Value::Integer(1),
            bulk(""),
            bulk("GRANTED"),
            bulk("GRANTED -1"),
            bulk("GRANTED 99999999999999999999999"),
            bulk("RELEASED"),
            Value::Text(&[0xff]),
            Value::List(vec![]),
            Value::List(vec![bulk("GRANTED")]),
            Value::List(vec![
                bulk("QUEUED"),
                Value::Integer(-1),
                Value::Integer(9),
                bulk(""),
                bulk(""),
            ]),
            Value::List(vec![bulk("BUSY"), bulk("x"), bulk("")]),
            Value::List(vec![
                bulk("INFO"),
                bulk("1"),
                Value::Integer(1),
                Value::Integer(1),
                Value::Integer(0),
                bulk("1"),
                Value::Nil,
                Value::List(vec![]),
            ]),
        ];
        for value in table {
            let error = parse(&value, &Op::Inspect).unwrap_err();
            assert_eq!(error.kind(), StoreErrorKind::Protocol, "{value:?}");
        }
    }
}
