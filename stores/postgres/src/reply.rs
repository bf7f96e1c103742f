//! Decodes the replies of the functions.

use std::time::Duration;

use auto_mutex_core::StoreError;
use auto_mutex_core::store::{
    HolderRecord, KickRecord, MemberId, NameRecord, Reply, StoreErrorKind, Ticket, TicketRecord,
};
use tokio_postgres::Row;

use crate::call::{Function, LOST, stored};

pub(crate) fn parse(function: Function, rows: &[Row]) -> Result<Reply, StoreError> {
    let reply = match (function, rows) {
        (Function::Inspect, rows) => record(rows).map(|(_, record)| Reply::Info(record)),
        (_, [row]) => match row.try_get::<_, &str>(0) {
            Ok(LOST) => return Err(lost()),
            text => text.ok().and_then(words),
        },
        _ => None,
    };
    reply.ok_or_else(nonsense)
}

/// The messages for a member.
pub(crate) fn messages(rows: &[Row]) -> Result<Vec<&str>, StoreError> {
    let message = |row| match Row::try_get(row, 0) {
        Ok(LOST) => Err(lost()),
        text => text.map_err(|_| nonsense()),
    };
    rows.iter().map(message).collect()
}

fn lost() -> StoreError {
    StoreError::disconnected("the server was restarted, and has lost its locks")
}

pub(crate) fn nonsense() -> StoreError {
    let text = "the server's reply is not one of this library's functions";
    StoreError::new(StoreErrorKind::Protocol, text)
}

fn words(text: &str) -> Option<Reply> {
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    let number = || rest.parse::<u64>().ok();
    let numbers = || {
        let (first, second) = rest.split_once(' ')?;
        Some((first.parse::<u64>().ok()?, second.parse::<u64>().ok()?))
    };
    Some(match (word, rest) {
        ("GRANTED", _) => {
            let (token, signal) = match rest.split_once(' ') {
                Some((token, signal)) => (token, Some(stored(signal))),
                None => (rest, None),
            };
            let token = token.parse().ok()?;
            Reply::Granted { token, signal }
        }
        ("QUEUED", _) => {
            let mut words = rest.splitn(3, ' ');
            Reply::Queued {
                position: words.next()?.parse().ok()?,
                again: Duration::from_millis(words.next()?.parse().ok()?),
                holder: described(words.next().unwrap_or_default())?,
            }
        }
        ("BUSY", _) => Reply::Busy {
            holder: described(rest)?,
        },
        ("KEPT", _) => Reply::Kept {
            holder: described(rest)??,
        },
        ("MISMATCH", _) => {
            let (capacity, takes) = numbers()?;
            let (capacity, takes) = (capacity.try_into().ok()?, takes == 1);
            Reply::Mismatch { capacity, takes }
        }
        ("IN_USE", _) => {
            let (holders, waiters) = numbers()?;
            Reply::InUse { holders, waiters }
        }
        ("RELEASED", _) => Reply::Released { free: number()? },
        ("COUNT", _) => Reply::Count(number()?),
        ("REFUSED", "") => Reply::Refused,
        ("TOO_MANY", "") => Reply::TooMany,
        ("GONE", "") => Reply::Gone,
        ("CANCELLED", "") => Reply::Cancelled,
        _ => return None,
    })
}

/// Parses a token and the meta after it, if there is a holder.
fn described(text: &str) -> Option<Option<HolderRecord>> {
    if text.is_empty() {
        return Some(None);
    }
    let (token, meta) = text.split_once(' ')?;
    Some(Some(HolderRecord {
        token: token.parse().ok()?,
        meta: meta.to_owned().into(),
    }))
}

/// The server's time and the state of a name, from a row for each ticket.
pub(crate) fn record(rows: &[Row]) -> Option<(u64, NameRecord)> {
    let first = rows.first()?;
    let mut record = NameRecord::default();
    let Some(now) = number(first, 0) else {
        // The database has no such name.
        return Some((0, record));
    };
    record.token = number(first, 1)?;
    record.capacity = number(first, 2).and_then(|capacity| capacity.try_into().ok());
    record.used = number(first, 3)?;
    record.signals = number(first, 4)?;
    record.exists = first.try_get(5).ok()?;
    record.kick = kick(first);
    for row in rows {
        if let Ok(Some(ticket)) = row.try_get::<_, Option<&str>>(9) {
            let holds = row.try_get(20).ok()?;
            let list = match holds {
                true => &mut record.holders,
                false => &mut record.waiters,
            };
            list.push(ticket_of(row, ticket)?);
        }
    }
    Some((now, record))
}

fn kick(row: &Row) -> Option<Box<KickRecord>> {
    let text = |index| row.try_get::<_, Option<&str>>(index).ok().flatten();
    Some(Box::new(KickRecord {
        at: text(6)?.parse().ok()?,
        token: text(7)?.parse().ok()?,
        by: text(8)?.to_owned().into(),
    }))
}

fn ticket_of(row: &Row, ticket: &str) -> Option<TicketRecord> {
    let is = |index| row.try_get(index).ok();
    Some(TicketRecord {
        ticket: Ticket::parse(ticket)?,
        member: MemberId::parse(row.try_get(10).ok()?)?,
        units: number(row, 11)?.try_into().ok()?,
        takes: is(12)?,
        since: number(row, 13)?,
        token: number(row, 14)?,
        meta: row.try_get::<_, String>(15).ok()?.into(),
        left: Duration::from_micros(number(row, 16)?),
        parked: is(17)?,
        passed_over: is(18)?,
        kept: is(19)?,
    })
}

fn number(row: &Row, index: usize) -> Option<u64> {
    let number: Option<i64> = row.try_get(index).ok()?;
    number?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_understood() {
        let granted = |token, signal: Option<&str>| Reply::Granted {
            token,
            signal: signal.map(Into::into),
        };
        let holder = || HolderRecord {
            token: 7,
            meta: "host 1 site".into(),
        };
        let queued = |position, holder| Reply::Queued {
            position,
            again: Duration::from_millis(1100),
            holder,
        };
        for (text, reply) in [
            ("GRANTED 17", granted(17, None)),
            ("GRANTED 17 a text", granted(17, Some("a text"))),
            ("QUEUED 2 1100", queued(2, None)),
            ("QUEUED 2 1100 7 host 1 site", queued(2, Some(holder()))),
            ("BUSY", Reply::Busy { holder: None }),
            ("KEPT 7 host 1 site", Reply::Kept { holder: holder() }),
            ("RELEASED 3", Reply::Released { free: 3 }),
            ("COUNT 2", Reply::Count(2)),
            ("GONE", Reply::Gone),
        ] {
            assert_eq!(words(text), Some(reply), "{text}");
        }
        for garbage in ["", "GRANTED", "QUEUED 1", "KEPT", "COUNT x", "GONE 1", "NO"] {
            assert_eq!(words(garbage), None, "{garbage}");
        }
    }
}
