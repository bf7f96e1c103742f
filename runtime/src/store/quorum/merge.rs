//! What several nodes say, as one answer.

use super::enough::majority;
use super::votes::Votes;
use crate::store::{NameRecord, Reply, TicketRecord};

/// What a majority says; `silent` nodes might agree with anything.
pub(super) fn merge(votes: &Votes, side: Option<&Votes>, silent: usize) -> Reply {
    let replies: Vec<_> = votes.replies().collect();
    let most = majority(replies.len() + silent);
    // At least so many say so much, or might.
    let agreed = |number: fn(&Reply) -> Option<u64>| {
        let mut numbers: Vec<_> = replies.iter().filter_map(|reply| number(reply)).collect();
        numbers.sort_unstable_by(|a, b| b.cmp(a));
        let index = most.saturating_sub(silent + 1);
        numbers.get(index).copied().unwrap_or(0)
    };
    let waiting = || {
        records(side).map_or_else(Vec::new, |found| {
            tickets(&found, |record| &record.waiters, silent)
        })
    };
    match replies.first() {
        Some(Reply::Freed { .. }) => Reply::Freed {
            holders: agreed(number),
        },
        Some(Reply::Told { .. }) => Reply::Told {
            holders: agreed(number),
        },
        Some(Reply::Signalled { .. }) => Reply::Signalled {
            count: replies
                .iter()
                .filter_map(|reply| number(reply))
                .max()
                .unwrap_or(0),
        },
        Some(Reply::Deleted { .. } | Reply::InUse { .. }) => {
            let used = |reply: &&&Reply| matches!(reply, Reply::InUse { .. });
            let in_use = replies.iter().filter(used).count();
            if in_use + silent >= most && in_use > 0 {
                let waiters = waiting().len() as u64;
                Reply::InUse {
                    holders: agreed(number),
                    waiters,
                }
            } else {
                let existed = |reply: &&&Reply| matches!(reply, Reply::Deleted { existed: true });
                let existed = replies.iter().filter(existed).count();
                Reply::Deleted {
                    existed: existed > 0 && existed + silent >= most,
                }
            }
        }
        Some(Reply::Info(_)) => match records(Some(votes)) {
            Some(found) => Reply::Info(NameRecord {
                token: agreed(|reply| info(reply).map(|record| record.token)),
                capacity: found.iter().find_map(|record| record.capacity),
                used: agreed(|reply| info(reply).map(|record| record.used)),
                signals: agreed(|reply| info(reply).map(|record| record.signals)),
                exists: agreed(|reply| info(reply).map(|record| u64::from(record.exists))) > 0,
                holders: tickets(&found, |record| &record.holders, silent),
                waiters: {
                    let mut waiters = tickets(&found, |record| &record.waiters, silent);
                    waiters.extend(waiting());
                    waiters
                },
            }),
            None => Reply::Info(NameRecord::default()),
        },
        Some(other) => (*other).clone(),
        None => Reply::Gone,
    }
}

/// What is counted.
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

fn records(votes: Option<&Votes>) -> Option<Vec<&NameRecord>> {
    votes.map(|votes| votes.replies().filter_map(info).collect())
}

/// The tickets that are on most nodes, in order of token, each for as long as it lasts anywhere.
fn tickets(
    found: &[&NameRecord],
    which: impl Fn(&NameRecord) -> &Vec<TicketRecord>,
    silent: usize,
) -> Vec<TicketRecord> {
    let most = majority(found.len() + silent);
    let mut all: Vec<Vec<&TicketRecord>> = Vec::new();
    for ticket in found.iter().flat_map(|record| which(record)) {
        match all
            .iter_mut()
            .find(|known| known[0].ticket == ticket.ticket)
        {
            Some(known) => known.push(ticket),
            None => all.push(vec![ticket]),
        }
    }
    all.retain(|known| known.len() + silent >= most);
    let mut tickets: Vec<_> = all.into_iter().filter_map(|known| one_of(&known)).collect();
    tickets.sort_by_key(|ticket| ticket.token);
    tickets
}

/// One ticket of what several nodes say of it. The token that most of them have is the quorum's.
fn one_of(known: &[&TicketRecord]) -> Option<TicketRecord> {
    let same = |ticket: &&&TicketRecord| {
        known
            .iter()
            .filter(|other| other.token == ticket.token)
            .count()
    };
    let ticket = known.iter().max_by_key(same)?;
    let left = known
        .iter()
        .map(|ticket| ticket.left)
        .max()
        .unwrap_or_default();
    Some(TicketRecord {
        left,
        ..(**ticket).clone()
    })
}
