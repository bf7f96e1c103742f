//! Operations that concern no ticket's lease, like inspect or a forced release: merged ([`merge`]) once a majority of
//! the connected nodes has answered.

use std::time::Duration;

use auto_mutex_core::StoreError;
use auto_mutex_core::store::{Op, Reply, Request, Signal, StoreErrorKind};

use super::job::{Job, Kind};
use super::machine::Quorum;
use super::merge::merge;
use super::votes::Votes;
use super::wake_queue::wake_queue;

/// How long a query waits for the other nodes once a majority has answered.
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
        // The waiters are in the wake queue of the name, not in the queue of the name itself.
        let asks_beside = matches!(request.op, Op::Inspect | Op::Delete);
        let queue = wake_queue(&request.name);
        let mut job = self.new_job(request, Kind::Query);
        if asks_beside {
            job.second = Votes::new(self.nodes.len());
        }
        for node in self.nodes.indices() {
            if !self.nodes.is_up(node) {
                continue;
            }
            let op = job.request.op.clone();
            self.ask(&mut job, node, op);
            if asks_beside {
                job.second.ask(node);
                self.nodes.send(node, job.number, &queue, Op::Inspect);
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
        let waits = !is_answered || job.is_in_grace(self.now, GRACE);
        if is_possible && !is_complete && !is_done && waits {
            return None;
        }
        if matches!(job.request.op, Op::Force { .. } | Op::Kick { .. }) {
            self.wake_one(&job.request.name);
        }
        if is_answered {
            return Some(Ok(merge(&job.votes, &job.second)));
        }
        let error = self.unreachable(majority);
        // Not `Busy`: the member would send the operation again, and some nodes may have executed it.
        let error = match job.request.op {
            Op::Force { .. } | Op::Kick { .. } | Op::Delete if !error.is_disconnected() => {
                error.as_kind(StoreErrorKind::Refused)
            }
            _ => error,
        };
        Some(Err(job.votes.trouble().cloned().unwrap_or(error)))
    }
}
