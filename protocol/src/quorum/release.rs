//! A release goes to every node that may hold the ticket; to an unreachable one, when it reconnects.

use alloc::vec::Vec;
use core::time::Duration;

use super::Step;
use super::env::Name;
use super::job::Kind;
use super::nodes::{NOBODY, Nodes};
use super::ticket::{Phase, TicketState};
use super::votes::Votes;
use crate::{Op, Reply, Request, StoreError, Ticket};

impl<N: Name> Step<'_, '_, N> {
    pub(super) fn release(&mut self, ticket: Ticket, request: Request<N>) {
        self.end_requests(ticket);
        let mut state = self.rounds.tickets.remove(&ticket);
        if let Some(state) = &mut state {
            state.leave_wake_queue(&mut self.nodes, false);
        }
        let listens = state.as_ref().is_some_and(TicketState::listens);
        let phase = state.as_ref().map(|state| &state.phase);
        let (held, used_from) = match (phase, &request.op) {
            (None | Some(Phase::Held(_)), _) => (true, None),
            (Some(Phase::Notified(by, _)), Op::Release { used: 1.., .. }) => (true, Some(*by)),
            _ => (false, None),
        };
        let enough = used_from.map_or(self.nodes.majority(), |_| 1);
        let mut job = self.new_job(request, Kind::Release { held, enough });
        for node in self.nodes.indices() {
            let is_up = self.nodes.is_up(node);
            let is_late = match state.as_mut().map(|state| &mut state.on[node]) {
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
            self.nodes.release(node, job.number, name, op);
        }
        if !listens {
            self.wake_one(&job.request.name);
        }
        if let Some(state) = state.filter(|_| used_from.is_some()) {
            // The other nodes may be about to report the same notification.
            let mut later = self.new_job(job.request.clone(), Kind::Withdraw(ticket));
            later.ends = self
                .nodes
                .now
                .after(self.nodes.limits.quorum.late_notification);
            self.keep(later);
            self.rounds.tickets.insert(ticket, state);
        }
        self.decide(job);
    }

    pub(super) fn end_requests(&mut self, ticket: Ticket) {
        let Some(state) = self.rounds.tickets.get_mut(&ticket) else {
            return;
        };
        let (number, later) = (state.job.take(), core::mem::take(&mut state.later));
        let job = number.and_then(|number| self.rounds.jobs.take(number));
        for request in job.map(|job| job.request).into_iter().chain(later) {
            self.answer(request, Ok(Reply::Gone));
        }
    }

    pub(super) fn release_result(
        &self,
        votes: &Votes,
        held: bool,
        enough: usize,
    ) -> Option<Result<Reply, StoreError>> {
        let free = votes.replies().filter_map(free_of);
        let released = free.clone().count();
        let is_over = votes.unanswered() == 0;
        // A silent node counts as one that held the ticket.
        let unknown = votes.errors().count();
        if !held {
            let is_done = is_over || votes.answered() >= enough;
            is_done.then_some(Ok(Reply::Cancelled))
        } else if released >= enough || is_over && released > 0 && released + unknown >= enough {
            let mut free: Vec<_> = free.collect();
            free.sort_unstable();
            let free = free[released / 2];
            Some(Ok(Reply::Released { free }))
        } else if is_over && released + unknown >= enough {
            Some(Err(self.nodes.trouble(votes, enough)))
        } else {
            let is_gone = released + unknown + votes.unanswered() < enough;
            is_gone.then_some(Ok(Reply::Gone))
        }
    }

    pub(super) fn withdraw(&mut self, ticket: Ticket) {
        self.end_requests(ticket);
        if let Some(mut state) = self.rounds.tickets.remove(&ticket) {
            state.leave_wake_queue(&mut self.nodes, false);
            for node in self.nodes.indices() {
                state.withdraw_from(&mut self.nodes, node, 0);
            }
        }
    }
}

impl<N: Name> TicketState<N> {
    pub(super) fn withdraw_from(&mut self, nodes: &mut Nodes<'_, '_, N>, node: usize, used: u64) {
        if self.on[node].may_hold() {
            let tomb = self.on[node].release(nodes.is_up(node));
            let op = release_op(self.lease.ticket, tomb, used);
            nodes.release(node, NOBODY, &self.name, op);
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
