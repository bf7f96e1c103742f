//! Merges the answers of several nodes: the majority counts, and a silent node agrees with every answer. Signals have
//! another rule: see [`merge`].

use auto_mutex_core::store::{NameRecord, Reply, TicketRecord};

use super::votes::{Votes, majority, most_frequent};

/// Merges the answers to a query. `beside`: the answers about the wake queue, which contains the waiters of the name.
pub(super) fn merge(votes: &Votes, beside: &Votes) -> Reply {
    let Some(first) = votes.replies().next() else {
        return Reply::Gone;
    };
    match first {
        Reply::Freed { .. } => Reply::Freed {
            holders: agreed(votes, number),
        },
        Reply::Told { .. } => Reply::Told {
            holders: agreed(votes, number),
        },
        Reply::Signalled { .. } => Reply::Signalled {
            count: votes.replies().filter_map(number).max().unwrap_or(0),
        },
        Reply::Deleted { .. } | Reply::InUse { .. } => {
            let is_agreed = |which: fn(&Reply) -> bool| {
                let count = votes.count(which);
                count > 0 && count + silent(votes) >= majority(votes.len())
            };
            match is_agreed(|reply| matches!(reply, Reply::InUse { .. })) {
                true => Reply::InUse {
                    holders: agreed(votes, number),
                    waiters: tickets(beside, |record| &record.waiters).len() as u64,
                },
                false => Reply::Deleted {
                    existed: is_agreed(|reply| matches!(reply, Reply::Deleted { existed: true })),
                },
            }
        }
        Reply::Info(_) => Reply::Info(described(votes, beside)),
        other => other.clone(),
    }
}

/// Merges the states of a name, and of its wake queue. `None`: the node has not answered.
pub(super) fn merged(
    records: Vec<Option<NameRecord>>,
    beside: Vec<Option<NameRecord>>,
) -> NameRecord {
    let voted = |records: Vec<Option<NameRecord>>| {
        let mut votes = Votes::new(records.len());
        for (node, record) in records.into_iter().enumerate() {
            if let Some(record) = record {
                votes.put(node, Ok(Reply::Info(record)));
            }
        }
        votes
    };
    described(&voted(records), &voted(beside))
}

fn described(votes: &Votes, beside: &Votes) -> NameRecord {
    let holders = tickets(votes, |record| &record.holders);
    let mut waiters = tickets(votes, |record| &record.waiters);
    // In a wake queue, every ticket accepts a signal, whatever the kind of lock. So `takes` is copied from a holder.
    let takes = holders.first().is_some_and(|holder| holder.takes);
    let beside = tickets(beside, |record| &record.waiters).into_iter();
    waiters.extend(beside.map(|waiter| TicketRecord { takes, ..waiter }));
    waiters.sort_by_key(|waiter| waiter.since);
    NameRecord {
        token: agreed(votes, |reply| Some(info(reply)?.token)),
        capacity: votes
            .replies()
            .filter_map(info)
            .find_map(|record| record.capacity),
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

/// The greatest number that a majority reports or exceeds. A silent node counts as agreeing.
fn agreed(votes: &Votes, number: fn(&Reply) -> Option<u64>) -> u64 {
    let mut numbers: Vec<_> = votes.replies().filter_map(number).collect();
    numbers.sort_unstable_by(|a, b| b.cmp(a));
    let index = majority(votes.len()).saturating_sub(silent(votes) + 1);
    numbers.get(index).copied().unwrap_or(0)
}

fn number(reply: &Reply) -> Option<u64> {
    match reply {
        Reply::Freed { holders } | Reply::Told { holders } | Reply::InUse { holders, .. } => {
            Some(*holders)
        }
        Reply::Signalled { count } => Some(*count),
        _ => None,
    }
}

fn info(reply: &Reply) -> Option<&NameRecord> {
    match reply {
        Reply::Info(record) => Some(record),
        _ => None,
    }
}

/// Those that a majority has, in order of token, each with its longest remaining time.
fn tickets(votes: &Votes, which: fn(&NameRecord) -> &Vec<TicketRecord>) -> Vec<TicketRecord> {
    let mut all: Vec<Vec<&TicketRecord>> = Vec::new();
    for ticket in votes.replies().filter_map(info).flat_map(which) {
        match all
            .iter_mut()
            .find(|known| known[0].ticket == ticket.ticket)
        {
            Some(known) => known.push(ticket),
            None => all.push(vec![ticket]),
        }
    }
    all.retain(|known| known.len() + silent(votes) >= majority(votes.len()));
    let mut tickets: Vec<_> = all.into_iter().filter_map(|known| one_of(&known)).collect();
    tickets.sort_by_key(|ticket| ticket.token);
    tickets
}

/// The most frequent token is the quorum's; `since` is that of the first node that received the ticket.
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
