//! Decodes the replies of the functions.

use std::time::Duration;

use auto_mutex_seam::StoreError;
use auto_mutex_seam::store::{
    KickRecord, MemberId, NameRecord, Reply, StoreErrorKind, Ticket, TicketRecord,
};
use tokio_postgres::Row;

use crate::call::{INSPECT, LOST, RUN, stored};

/// The replies of a function: one, but of `run`.
pub(crate) fn parse(function: &str, rows: &[Row]) -> Result<Vec<Reply>, StoreError> {
    let read = |text: &str| Reply::parse(&stored(text));
    let replies = match (function, rows) {
        (INSPECT, rows) => record(rows).map(|(_, record)| vec![Reply::Info(record)]),
        (RUN, [row]) => match row.try_get::<_, Vec<&str>>(0).as_deref() {
            Ok([LOST]) => return Err(lost()),
            texts => texts
                .ok()
                .and_then(|texts| texts.iter().map(|text| read(text)).collect()),
        },
        (_, [row]) => match row.try_get(0) {
            Ok(LOST) => return Err(lost()),
            text => text.ok().and_then(read).map(|reply| vec![reply]),
        },
        _ => None,
    };
    replies.ok_or_else(nonsense)
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

/// The server's time and the state of a name, from a row for each ticket.
pub(crate) fn record(rows: &[Row]) -> Option<(u64, NameRecord)> {
    let mut record = NameRecord::default();
    let Some(first) = rows.first() else {
        // The database has no such name.
        return Some((0, record));
    };
    let now = number(first, 0)?;
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
    Some(Box::new(KickRecord {
        at: number(row, 6)?,
        token: number(row, 7)?,
        by: stored(row.try_get(8).ok()?).into_owned().into(),
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
        meta: stored(row.try_get(15).ok()?).into_owned().into(),
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
