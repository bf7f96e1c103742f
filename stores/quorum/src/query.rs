//! Operations that concern no ticket's lease, such as inspect or a forced release. Their answers are merged once a
//! majority of the connected nodes has answered. The majority's answer counts, and a silent node agrees with every
//! answer.

use std::collections::BTreeMap;
use std::time::Duration;

use auto_mutex_core::StoreError;
use auto_mutex_core::store::{
    NameRecord, Op, Reply, Request, Signal, StoreErrorKind, TicketRecord,
};

use super::machine::{Job, Kind, Quorum};
use super::votes::{Votes, majority, most_frequent};
use super::wake::wake_queue;

const GRACE: Duration = Duration::from_millis(100);

impl Quorum {
    pub(super) fn query(&mut self, request: Request) {
        if let Op::Signal {
            signal: Signal::Token(_),
            ..
        } = request.op
        {
            let what = "tokens of a semaphore: each must be handed out once";
            let error = StoreError::new(StoreErrorKind::Unsupported, what);
            return self.answer(request, Err(error));
        }
        // The name's waiters are in the wake queue. None of them blocks another.
        let asks_beside = matches!(request.op, Op::Inspect { above: 0 } | Op::Delete);
        let queue = wake_queue(&request.name);
        let mut job = self.new_job(request, Kind::Query);
        if asks_beside {
            job.second = Votes::new(self.nodes.len());
        }
        for node in self.nodes.reachable() {
            let op = job.request.op.clone();
            job.ask(&mut self.nodes, node, op);
            if asks_beside {
                job.second.ask(node);
                self.nodes
                    .send(node, job.number, &queue, Op::Inspect { above: 0 });
            }
        }
        self.decide(job);
    }

    pub(super) fn query_result(&mut self, job: &mut Job) -> Option<Result<Reply, StoreError>> {
        let majority = self.nodes.majority();
        let answered = job.votes.answered();
        let is_answered = answered >= majority;
        let is_possible = answered + job.votes.unanswered() >= majority;
        let is_complete = job.votes.unanswered() + job.second.unanswered() == 0;
        // A notification is complete once a majority has it.
        let is_done = is_answered && matches!(job.request.op, Op::Signal { .. });
        let waits = !is_answered || job.is_in_grace(self.nodes.now, GRACE);
        if is_possible && !is_complete && !is_done && waits {
            return None;
        }
        if matches!(job.request.op, Op::Force | Op::Kick { .. }) {
            self.wake_one(&job.request.name);
        }
        if is_answered {
            return Some(Ok(merge(&job.request.op, &job.votes, &job.second)));
        }
        let error = self.nodes.unreachable(majority);
        // Not `Busy`, after which the member would resend the operation, although some nodes may have executed it.
        let error = match job.request.op {
            Op::Force | Op::Kick { .. } | Op::Delete if !error.is_disconnected() => {
                error.as_kind(StoreErrorKind::Refused)
            }
            _ => error,
        };
        Some(Err(job.votes.trouble().cloned().unwrap_or(error)))
    }
}

/// `beside` has the answers about the wake queue, where the name's waiters are.
fn merge(op: &Op, votes: &Votes, beside: &Votes) -> Reply {
    let Some(first) = votes.replies().next() else {
        return Reply::Gone;
    };
    match first {
        Reply::Count(_) | Reply::InUse { .. } => {
            let in_use = |reply: &Reply| Some(matches!(reply, Reply::InUse { .. }).into());
            if agreed(votes, in_use) > 0 {
                return Reply::InUse {
                    holders: agreed(votes, holders),
                    waiters: tickets(beside, |record| &record.waiters).len() as u64,
                };
            }
            Reply::Count(match op {
                Op::Signal { .. } => votes.replies().map(Reply::count).max().unwrap_or(0),
                _ => agreed(votes, |reply| Some(reply.count())),
            })
        }
        Reply::Info(_) => Reply::Info(described(votes, beside)),
        other => other.clone(),
    }
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

/// The greatest number that a majority reports or exceeds.
fn agreed(votes: &Votes, number: fn(&Reply) -> Option<u64>) -> u64 {
    let mut numbers: Vec<_> = votes.replies().filter_map(number).collect();
    numbers.sort_unstable_by(|a, b| b.cmp(a));
    let index = majority(votes.len()).saturating_sub(silent(votes) + 1);
    numbers.get(index).copied().unwrap_or(0)
}

fn holders(reply: &Reply) -> Option<u64> {
    match reply {
        Reply::InUse { holders, .. } => Some(*holders),
        _ => None,
    }
}

fn info(reply: &Reply) -> Option<&NameRecord> {
    match reply {
        Reply::Info(record) => Some(record),
        _ => None,
    }
}

fn tickets(votes: &Votes, which: fn(&NameRecord) -> &Vec<TicketRecord>) -> Vec<TicketRecord> {
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
