//! Renewals touch a held ticket on every node. A node that has lost it is asked to grant it again, and counts from the
//! next renewal on.

use auto_mutex_core::StoreError;
use auto_mutex_core::store::{Op, Reply, Request, Ticket};

use super::job::{Job, Kind};
use super::machine::Quorum;
use super::nodes::NOBODY;
use super::ticket::{Phase, find};
use super::votes::is_granted;

impl Quorum {
    pub(super) fn renew(&mut self, request: Request, ticket: Ticket) {
        let units = kept_units(&request);
        let Some(state) = self.tickets.get(&ticket) else {
            return;
        };
        if state.open() < state.needed() {
            return self.answer(request, Ok(Reply::Gone));
        }
        let mut job = self.new_job(request, Kind::Renew);
        for node in self.nodes.indices() {
            let Some(state) = self.tickets.get(&ticket) else {
                return;
            };
            if !self.nodes.is_up(node) {
                continue;
            }
            if state.on[node].open {
                let op = state.touch(units);
                self.ask(&mut job, node, op);
            } else if !state.on[node].tombed {
                // The node does not count in this renewal: since the last renewal, another ticket may have held the name there.
                self.acquire_on(node, ticket, NOBODY);
            }
        }
        self.decide(job);
    }

    /// Returns the answer to a renewal. Only nodes that have held the ticket without a gap count.
    pub(super) fn renewal_result(&mut self, job: &Job) -> Option<Result<Reply, StoreError>> {
        let Some((_, state)) = find(&mut self.tickets, &job.request) else {
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
        (votes.unanswered() == 0).then(|| Err(self.trouble(votes, enough)))
    }
}

/// The maximum number of units that the holder keeps; 0: it keeps all.
fn kept_units(request: &Request) -> u32 {
    match request.op {
        Op::Touch { units, .. } => units,
        _ => 0,
    }
}
