//! Renewals touch a held ticket on every node. A node that has lost it is asked to grant it again, and counts from the
//! next renewal on.

use super::job::{Job, Kind};
use super::machine::Quorum;
use super::nodes::NOBODY;
use super::ticket::{Phase, find};
use super::votes::is_granted;
use crate::error::StoreError;
use crate::store::{Op, Reply, Request};

impl Quorum {
    pub(super) fn renew(&mut self, request: Request) {
        let units = kept_units(&request);
        let mut job = self.new_job(request, Kind::Renew);
        let Some(state) = find(&mut self.tickets, &job.request) else {
            return;
        };
        if state.open() < state.needed() {
            return self.answer(job.request, Ok(Reply::Gone));
        }
        for node in self.nodes.reachable() {
            if state.on[node].open {
                job.ask(&mut self.nodes, node, state.touch(units));
            } else if !state.on[node].tombed {
                // It doesn't count in this renewal: another ticket may have held the name there.
                state.acquire_on(&mut self.nodes, node, NOBODY);
            }
        }
        self.decide(job);
    }

    /// Only nodes that have held the ticket without a gap count.
    pub(super) fn renewal_result(&mut self, job: &Job) -> Option<Result<Reply, StoreError>> {
        let Some(state) = find(&mut self.tickets, &job.request) else {
            return Some(Ok(Reply::Gone));
        };
        let Phase::Held(token) = state.phase else {
            return Some(Ok(Reply::Gone));
        };
        let enough = state.needed();
        let votes = &job.votes;
        if votes.count(is_granted) >= enough {
            let units = kept_units(&job.request);
            if units > 0 && units < state.share.units {
                state.share.units = units;
                self.wake_one(&job.request.name);
            }
            let signal = None;
            return Some(Ok(Reply::Granted { token, signal }));
        }
        if state.open() < enough {
            state.phase = Phase::Wanting;
            return Some(Ok(Reply::Gone));
        }
        (votes.unanswered() == 0).then(|| Err(self.nodes.trouble(votes, enough)))
    }
}

/// 0: it keeps all.
fn kept_units(request: &Request) -> u32 {
    match request.op {
        Op::Touch { units, .. } => units,
        _ => 0,
    }
}
