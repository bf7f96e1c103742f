//! Operations that concern no ticket's lease, such as inspect or a forced release. Their answers are merged once a
//! majority of the connected nodes has answered. The majority's answer counts, and a silent node agrees with every
//! answer.

use super::Step;
use super::env::Name;
use super::job::{Job, Kind};
use super::record::{agreed, described, tickets};
use super::votes::Votes;
use crate::{Op, Reply, Request, Signal, StoreError, StoreErrorKind};

impl<N: Name> Step<'_, '_, N> {
    pub(super) fn query(&mut self, request: Request<N>) {
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
        let queue = request.name.wake_queue();
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

    pub(super) fn query_result(&mut self, job: &mut Job<N>) -> Option<Result<Reply, StoreError>> {
        let majority = self.nodes.majority();
        let answered = job.votes.answered();
        let is_answered = answered >= majority;
        let is_possible = answered + job.votes.unanswered() >= majority;
        let is_complete = job.votes.unanswered() + job.second.unanswered() == 0;
        // A notification is complete once a majority has it.
        let is_done = is_answered && matches!(job.request.op, Op::Signal { .. });
        let waits =
            !is_answered || job.is_in_grace(self.nodes.now, self.nodes.limits.quorum.query_grace);
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

fn holders(reply: &Reply) -> Option<u64> {
    match reply {
        Reply::InUse { holders, .. } => Some(*holders),
        _ => None,
    }
}
