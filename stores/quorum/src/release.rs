//! A release goes to every node that may hold the ticket. An unreachable node gets the release when it reconnects.

use std::time::Duration;

use auto_mutex_core::StoreError;
use auto_mutex_core::store::{Op, Reply, Request, Ticket};

use super::job::Kind;
use super::machine::{Due, Quorum};
use super::nodes::NOBODY;
use super::ticket::Phase;
use super::votes::Votes;

/// After a notification was used, how long the other nodes have to report the same notification.
const LATER: Duration = Duration::from_millis(250);

impl Quorum {
    pub(super) fn release(&mut self, request: Request) {
        let Some(ticket) = request.op.ticket() else {
            return;
        };
        self.end_requests(ticket);
        self.leave_wake_queue(ticket, false);
        let state = self.tickets.get(&ticket);
        let listens = state.is_some_and(|state| state.listens());
        // Whether the ticket was held and not only requested, and which node sent the notification that was used.
        let (held, used_from) = match (state.map(|state| &state.phase), &request.op) {
            (None | Some(Phase::Held(_)), _) => (true, None),
            (Some(Phase::Notified(by, _)), Op::Release { used: 1.., .. }) => (true, Some(*by)),
            _ => (false, None),
        };
        let enough = used_from.map_or(self.nodes.majority(), |_| 1);
        let mut job = self.new_job(request, Kind::Release { held, enough });
        for node in self.nodes.indices() {
            let is_up = self.nodes.is_up(node);
            let state = self.tickets.get_mut(&ticket);
            let is_late = match state.map(|state| &mut state.on[node]) {
                Some(on) if !on.may_hold() => continue,
                Some(_) if used_from.is_some_and(|by| by != node) => continue,
                Some(on) => on.release(is_up),
                None => true,
            };
            let mut op = job.request.op.clone();
            if let Op::Release { tomb, .. } = &mut op {
                *tomb |= is_late;
            }
            job.votes.ask(node);
            if !is_up {
                let error = StoreError::disconnected("the release is pending");
                job.votes.put(node, Err(error));
            }
            let name = &job.request.name;
            self.nodes.release(node, job.number, name, op, self.now);
        }
        if !listens {
            self.wake_one(&job.request.name);
        }
        match used_from {
            // The ticket is kept for a while, because the other nodes may be about to report the same notification.
            Some(_) => self.arm(self.now.after(LATER), Due::Withdraw(ticket)),
            None => drop(self.tickets.remove(&ticket)),
        }
        self.decide(job);
    }

    /// Answers the pending requests of `ticket`, which its release overtakes.
    pub(super) fn end_requests(&mut self, ticket: Ticket) {
        let Some(state) = self.tickets.get_mut(&ticket) else {
            return;
        };
        let (number, later) = (state.job.take(), std::mem::take(&mut state.later));
        let job = number.and_then(|number| self.take_job(number));
        for request in job.map(|job| job.request).into_iter().chain(later) {
            self.answer(request, Ok(Reply::Gone));
        }
    }

    /// Returns the answer to a release that `enough` nodes must have executed; `None` while the answer is unknown.
    pub(super) fn release_result(
        &self,
        votes: &Votes,
        held: bool,
        enough: usize,
    ) -> Option<Result<Reply, StoreError>> {
        let mut free: Vec<_> = votes.replies().filter_map(free_of).collect();
        let released = free.len();
        let is_over = votes.unanswered() == 0;
        // A node that does not answer counts as a node that held the ticket.
        let unknown = votes.failed();
        if !held {
            let is_done = is_over || votes.answered() >= enough;
            is_done.then_some(Ok(Reply::Cancelled))
        } else if released >= enough || is_over && released > 0 && released + unknown >= enough {
            free.sort_unstable();
            let free = free[released / 2];
            Some(Ok(Reply::Released { free }))
        } else if is_over && released + unknown >= enough {
            Some(Err(self.trouble(votes, enough)))
        } else {
            let is_gone = released + unknown + votes.unanswered() < enough;
            is_gone.then_some(Ok(Reply::Gone))
        }
    }

    /// Releases `ticket` on all nodes where it may hold or wait, and forgets the ticket.
    pub(super) fn withdraw(&mut self, ticket: Ticket) {
        self.leave_wake_queue(ticket, false);
        for node in self.nodes.indices() {
            self.withdraw_from(node, ticket, 0);
        }
        self.end_requests(ticket);
        self.tickets.remove(&ticket);
    }

    /// `used`: the token of the notification that was used, or 0.
    pub(super) fn withdraw_from(&mut self, node: usize, ticket: Ticket, used: u64) {
        if let Some(state) = self.tickets.get_mut(&ticket)
            && state.on[node].may_hold()
        {
            let tomb = state.on[node].release(self.nodes.is_up(node));
            let op = release_op(ticket, tomb, used);
            self.nodes.release(node, NOBODY, &state.name, op, self.now);
        }
    }
}

pub(super) fn release_op(ticket: Ticket, tomb: bool, used: u64) -> Op {
    Op::Release {
        ticket,
        park: Duration::ZERO,
        tomb,
        used,
    }
}

fn free_of(reply: &Reply) -> Option<u64> {
    match reply {
        Reply::Released { free } => Some(*free),
        _ => None,
    }
}
