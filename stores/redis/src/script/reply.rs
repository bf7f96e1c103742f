//! Decodes the replies of the scripts, and their messages.

use std::iter::repeat_n;
use std::str::FromStr;
use std::time::Duration;

use auto_mutex_seam::StoreError;
use auto_mutex_seam::store::{
    KickRecord, MemberId, NameRecord, Op, Reply, StoreErrorKind, Ticket, TicketRecord,
};

use crate::error;
use crate::wire::Value;

pub(crate) fn parse(value: &Value<'_>, op: &Op) -> Result<Reply, StoreError> {
    let reply = match value {
        Value::Error(error) => return Err(error::of_server(error)),
        Value::Integer(number) => counted(*number, op),
        value => read(value),
    };
    reply.ok_or_else(nonsense)
}

pub(crate) fn nonsense() -> StoreError {
    let text = "the server's reply is not one of this library's scripts";
    StoreError::new(StoreErrorKind::Protocol, text)
}

/// Splits the reply to operations on several names. An error of the whole command is that of each name.
pub(crate) fn of_names(value: Value<'_>, count: usize) -> impl Iterator<Item = Value<'_>> {
    let (each, whole) = match value {
        Value::List(each) if count > 1 && each.len() == count => (each, None),
        whole => (Vec::new(), Some(whole)),
    };
    let whole = whole.into_iter();
    each.into_iter()
        .chain(whole.flat_map(move |whole| repeat_n(whole, count)))
}

/// Splits the reply to two operations, the second of which is `last`.
pub(crate) fn of_both<'a>(value: Value<'a>, last: &Op) -> [Value<'a>; 2] {
    match (value, last) {
        (Value::List(both), _) => match <[Value<'_>; 2]>::try_from(both) {
            Ok(both) => both,
            Err(other) => [Value::List(other), Value::Text(b"")],
        },
        // The reply is the grant's token alone, because the preceding release left all units free.
        (token @ Value::Integer(_), Op::Acquire { share, .. }) => {
            [Value::Integer(share.capacity.into()), token]
        }
        (value, _) => [value.clone(), value],
    }
}

fn counted(number: i64, op: &Op) -> Option<Reply> {
    let number = number.try_into().ok()?;
    match op {
        Op::Acquire { .. } | Op::Touch { .. } | Op::Adopt { .. } | Op::Raise { .. } => {
            Some(Reply::Granted {
                token: number,
                signal: None,
            })
        }
        Op::Release { .. } => Some(Reply::Released { free: number }),
        _ => None,
    }
}

fn read(value: &Value<'_>) -> Option<Reply> {
    match value {
        Value::List(items) => match items.as_slice() {
            [token, signal] => Some(Reply::Granted {
                token: integer(token)?,
                signal: Some(signal.as_text()?.into()),
            }),
            [word, rest @ ..] if word.as_text() == Some("INFO") => info(rest),
            _ => None,
        },
        value => Reply::parse(value.as_text()?),
    }
}

fn info(parts: &[Value<'_>]) -> Option<Reply> {
    let mut parts = parts.iter();
    let mut next = || parts.next();
    Some(Reply::Info(NameRecord {
        token: integer(next()?)?,
        capacity: match next()? {
            Value::Text(b"") => None,
            capacity => Some(integer(capacity)?),
        },
        used: integer(next()?)?,
        signals: integer(next()?)?,
        exists: integer::<u8>(next()?)? == 1,
        holders: tickets(next()?)?,
        waiters: tickets(next()?)?,
        kick: next()?.as_text().and_then(kicked),
    }))
}

fn kicked(text: &str) -> Option<Box<KickRecord>> {
    let (at, rest) = text.split_once(' ')?;
    let (token, by) = rest.split_once(' ')?;
    Some(Box::new(KickRecord {
        at: at.parse().ok()?,
        token: token.parse().ok()?,
        by: by.to_owned().into(),
    }))
}

/// The message in a push on the member's channels.
pub(crate) fn message<'a>(words: &[Value<'a>]) -> Option<&'a str> {
    match words {
        [
            Value::Text(b"message" | b"smessage"),
            _,
            Value::Text(payload),
        ] => std::str::from_utf8(payload).ok(),
        _ => None,
    }
}

fn tickets(value: &Value<'_>) -> Option<Vec<TicketRecord>> {
    value.as_list()?.iter().map(ticket).collect()
}

fn ticket(value: &Value<'_>) -> Option<TicketRecord> {
    let parts = value.as_list()?;
    let state = integer::<u8>(parts.last()?)?;
    let mut parts = parts.iter();
    let mut next = || parts.next();
    Some(TicketRecord {
        ticket: Ticket::parse(next()?.as_text()?)?,
        member: MemberId::parse(next()?.as_text()?)?,
        units: integer(next()?)?,
        takes: integer::<u8>(next()?)? == 1,
        since: integer(next()?)?,
        token: integer(next()?)?,
        meta: next()?.as_text()?.to_owned().into(),
        left: Duration::from_micros(integer(next()?)?),
        parked: state == 2,
        passed_over: state == 3,
        kept: state == 4,
    })
}

fn integer<T: FromStr + TryFrom<i64>>(value: &Value<'_>) -> Option<T> {
    match value {
        Value::Integer(number) => T::try_from(*number).ok(),
        value => value.as_text()?.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use auto_mutex_seam::store::HolderRecord;

    use auto_mutex_seam::store::RandomId;

    use super::*;

    fn bulk(text: &str) -> Value<'_> {
        Value::Text(text.as_bytes())
    }

    #[test]
    fn replies_of_the_scripts_are_understood() {
        let ticket = Ticket::random();
        let raise = Op::Raise { ticket, token: 1 };
        let granted = |signal| Reply::Granted { token: 17, signal };
        assert_eq!(parse(&Value::Integer(17), &raise).unwrap(), granted(None));
        let of_signal = Value::List(vec![bulk("17"), bulk("a text")]);
        assert_eq!(
            parse(&of_signal, &raise).unwrap(),
            granted(Some("a text".into()))
        );
        let queued = |holder| Reply::Queued {
            position: 2,
            again: Duration::from_millis(9),
            holder,
        };
        let holder = HolderRecord {
            token: 5,
            meta: "host 1 site".to_owned().into(),
        };
        for (text, reply) in [
            ("FREED 2", Reply::Count(2)),
            ("QUEUED 2 9", queued(None)),
            ("QUEUED 2 9 5 host 1 site", queued(Some(holder))),
            ("BUSY", Reply::Busy { holder: None }),
        ] {
            assert_eq!(
                parse(&bulk(text), &Op::Inspect { above: 0 }).unwrap(),
                reply
            );
        }
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
            bulk("QUEUED -1 9"),
            bulk("QUEUED 1"),
            bulk("QUEUED 1 9 x y"),
            bulk("BUSY x"),
            Value::List(vec![bulk("x"), bulk("")]),
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
            let error = parse(&value, &Op::Inspect { above: 0 }).unwrap_err();
            assert_eq!(error.kind(), StoreErrorKind::Protocol, "{value:?}");
        }
    }
}
