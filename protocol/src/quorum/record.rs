//! What a majority knows about a name, from the records of its nodes. A silent node agrees with every answer.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::votes::{Votes, majority, most_frequent};
use crate::{NameRecord, Reply, StoreError, TicketRecord};

/// The records of the nodes as one: those of a name, and those of its wake queue, where its waiters are. `None` for a
/// node that did not answer.
pub fn merged(
    records: impl IntoIterator<Item = Option<Result<NameRecord, StoreError>>>,
    beside: impl IntoIterator<Item = Option<Result<NameRecord, StoreError>>>,
) -> Result<NameRecord, StoreError> {
    let votes = Votes::of_records(records);
    if votes.answered() >= majority(votes.len()) {
        return Ok(described(&votes, &Votes::of_records(beside)));
    }
    let few = || StoreError::disconnected("too few servers of the quorum have answered");
    Err(votes.errors().next().cloned().unwrap_or_else(few))
}

pub(super) fn described(votes: &Votes, beside: &Votes) -> NameRecord {
    let holders = tickets(votes, |record| &record.holders);
    let mut waiters = tickets(votes, |record| &record.waiters);
    // In a wake queue, every ticket accepts a signal, whatever the kind of lock.
    let takes = holders.first().is_some_and(|holder| holder.takes);
    let beside = tickets(beside, |record| &record.waiters).into_iter();
    waiters.extend(beside.map(|waiter| TicketRecord { takes, ..waiter }));
    waiters.sort_by_key(|waiter| waiter.since);
    let kicks = votes
        .replies()
        .filter_map(|reply| info(reply)?.kick.as_ref());
    NameRecord {
        kick: kicks.max_by_key(|kick| kick.at).cloned(),
        token: agreed(votes, |reply| Some(info(reply)?.token)),
        capacity: votes
            .replies()
            .filter_map(info)
            .filter_map(|record| record.capacity)
            .min(),
        used: agreed(votes, |reply| Some(info(reply)?.used)),
        signals: agreed(votes, |reply| Some(info(reply)?.signals)),
        exists: agreed(votes, |reply| Some(u64::from(info(reply)?.exists))) > 0,
        holders,
        waiters,
    }
}

fn silent(votes: &Votes) -> usize {
    votes.len() - votes.answered()
}

/// The greatest number that a majority reports or exceeds.
pub(super) fn agreed(votes: &Votes, number: fn(&Reply) -> Option<u64>) -> u64 {
    let mut numbers: Vec<_> = votes.replies().filter_map(number).collect();
    numbers.sort_unstable_by(|a, b| b.cmp(a));
    let index = majority(votes.len()).saturating_sub(silent(votes) + 1);
    numbers.get(index).copied().unwrap_or(0)
}

fn info(reply: &Reply) -> Option<&NameRecord> {
    match reply {
        Reply::Info(record) => Some(record),
        _ => None,
    }
}

pub(super) fn tickets(
    votes: &Votes,
    which: fn(&NameRecord) -> &Vec<TicketRecord>,
) -> Vec<TicketRecord> {
    let mut all: BTreeMap<_, Vec<&TicketRecord>> = BTreeMap::new();
    for ticket in votes.replies().filter_map(info).flat_map(which) {
        all.entry(ticket.ticket).or_default().push(ticket);
    }
    all.retain(|_, known| known.len() + silent(votes) >= majority(votes.len()));
    let mut tickets: Vec<_> = all.values().filter_map(|known| one_of(known)).collect();
    tickets.sort_by_key(|ticket| ticket.token);
    tickets
}

/// The most frequent token is the quorum's. `since` is that of the first node that received the ticket.
fn one_of(known: &[&TicketRecord]) -> Option<TicketRecord> {
    let (ticket, _) = most_frequent(known.iter(), |ticket| ticket.token)?;
    let left = known.iter().map(|ticket| ticket.left).max();
    let since = known.iter().map(|ticket| ticket.since).min();
    Some(TicketRecord {
        left: left.unwrap_or_default(),
        since: since.unwrap_or_default(),
        ..(**ticket).clone()
    })
}
