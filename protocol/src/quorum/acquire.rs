//! A round of an acquire asks all nodes together. If enough have granted, but with no majority for one token, the round
//! writes a new token to them before the grant counts. A renewal touches the ticket on every node. A node that has lost
//! it is asked to grant it again, and counts from the next renewal on.

use alloc::boxed::Box;
use alloc::collections::btree_map::Entry;
use core::ops::ControlFlow::{Break, Continue};

use super::Step;
use super::collision::lost;
use super::env::Name;
use super::job::{Job, Kind};
use super::nodes::Nodes;
use super::ticket::{Phase, TicketState, find};
use super::votes::{Vote, Votes, is_granted, most_frequent};
use crate::{Mode, Op, Reply, Request, StoreError, Ticket};

impl<N: Name> Step<'_, '_, N> {
    pub(super) fn ticket_asked(&mut self, request: Request<N>) {
        let Some(lease) = request.op.lease() else {
            return;
        };
        let state = match self.rounds.tickets.entry(lease.ticket) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(free) => match TicketState::new(&request, self.nodes.len()) {
                Some(state) => free.insert(state),
                None => return self.answer(request, Ok(Reply::Gone)),
            },
        };
        if state.job.is_some() {
            return state.later.push_back(request);
        }
        (state.lease, state.asked, state.rounds) = (lease, self.nodes.now, 0);
        if state.listens() {
            return self.listen(request);
        }
        if let Phase::Held(_) = state.phase {
            return self.renew(request);
        }
        // A store never answers a ticket's first request with "gone" or "refused", so a first request always makes a
        // round.
        if state.is_worn() && state.lease.counter > 1 {
            return self.end(request, Ok(Reply::Refused));
        }
        let is_new = state.mode == Mode::Queue && state.wake_queue.is_none();
        match self.head_start(&request.name).filter(|_| is_new) {
            Some(head_start) => self.pause(request, head_start),
            None => self.round(request),
        }
    }

    /// Without a grant or a place, the ticket leaves all nodes. Otherwise its next request starts.
    pub(super) fn end(&mut self, request: Request<N>, result: Result<Reply, StoreError>) {
        let Some(ticket) = request.op.ticket() else {
            return;
        };
        let goes_on = matches!(
            result,
            Err(_) | Ok(Reply::Granted { .. } | Reply::Queued { .. })
        );
        self.answer(request, result);
        if !goes_on {
            return self.withdraw(ticket);
        }
        if let Some(state) = self.rounds.tickets.get_mut(&ticket) {
            state.job = None;
        }
        while let Some(state) = self.rounds.tickets.get_mut(&ticket)
            && state.job.is_none()
            && let Some(request) = state.later.pop_front()
        {
            self.ticket_asked(request);
        }
    }

    pub(super) fn round(&mut self, request: Request<N>) {
        let mut job = self.new_job(request, Kind::Round);
        let Some(state) = find(&mut self.rounds.tickets, &job.request) else {
            return self.answer(job.request, Ok(Reply::Gone));
        };
        let nodes = &mut self.nodes;
        let enough = state.needed();
        let usable = nodes.those(|node| nodes.is_up(node) && !state.on[node].tombed);
        if usable.len() < enough {
            let error = nodes.unreachable(enough);
            return self.end(job.request, Err(error));
        }
        state.rounds += 1;
        state.woken = false;
        state.job = Some(job.number);
        job.ends = nodes.now.after(state.lease.hold);
        for node in usable {
            if state.wake_queue.is_some() {
                state.queue_on(nodes, node);
            }
            job.votes.ask(node);
            state.acquire_on(nodes, node, job.number);
        }
        self.keep(job);
    }

    pub(super) fn decide_round(&mut self, mut job: Box<Job<N>>) {
        let Some(state) = find(&mut self.rounds.tickets, &job.request) else {
            return self.answer(job.request, Ok(Reply::Gone));
        };
        let nodes = &mut self.nodes;
        let (enough, majority, now) = (state.needed(), nodes.majority(), nodes.now);
        let is_over = job.ends <= now;
        let granted = job.votes.count(is_granted);
        let (unanswered, answered) = (job.votes.unanswered(), job.votes.answered());
        let possible = granted + unanswered >= enough;
        let took = job.began.until(now);
        let (shortest, longest) = nodes.limits.quorum.grace;
        let grace = (took * 3).clamp(shortest, longest);
        if !is_over && granted >= enough {
            let tokens = job.votes.replies().filter_map(token_of);
            let (token, same) = most_frequent(tokens, |token| *token).unwrap_or_default();
            if same >= majority {
                self.rounds.took = took;
                // The remaining units may be enough for another waiter.
                if state.won(nodes, token) {
                    self.wake_one(&job.request.name);
                }
                let signal = None;
                return self.end(job.request, Ok(Reply::Granted { token, signal }));
            }
            job.raise(nodes, state.lease.ticket);
        } else if is_over
            || !possible && (answered >= majority || unanswered == 0)
            || answered >= majority && answered > granted && !job.is_in_grace(now, grace)
        {
            return match lost(state, nodes, &job) {
                Break(result) => self.end(job.request, result),
                Continue(pause) => self.pause(job.request, pause),
            };
        }
        self.keep(job);
    }

    pub(super) fn renew(&mut self, request: Request<N>) {
        let mut job = self.new_job(request, Kind::Renew);
        let Some(state) = find(&mut self.rounds.tickets, &job.request) else {
            return;
        };
        if state.open() < state.needed() {
            return self.answer(job.request, Ok(Reply::Gone));
        }
        for node in self.nodes.reachable() {
            state.touch_on(&mut self.nodes, node, &mut job);
        }
        self.decide(job);
    }

    /// Only nodes count that have held the ticket without a gap.
    pub(super) fn renewal_result(&mut self, job: &Job<N>) -> Option<Result<Reply, StoreError>> {
        let Some(state) = find(&mut self.rounds.tickets, &job.request) else {
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

impl<N: Name> Job<N> {
    /// A node that has already given this token to another ticket answers with its next one. Then a still greater one
    /// is written.
    fn raise(&mut self, nodes: &mut Nodes<'_, '_, N>, ticket: Ticket) {
        if self.second.unanswered() == 0 {
            let tokens = self.votes.replies().filter_map(token_of);
            let highest = tokens.max().unwrap_or(0);
            if highest >= self.token {
                let limits = &nodes.limits.quorum;
                let spread = u64::from(nodes.env.number()) % limits.spread;
                self.token = highest + limits.ahead + spread;
                self.second = Votes::new(nodes.len());
            }
        }
        let token = self.token;
        for node in nodes.indices() {
            let given = self.votes.reply(node).and_then(token_of);
            let is_lower = given.is_some_and(|given| given < token);
            if is_lower && matches!(self.second.of(node), Vote::None) {
                self.second.ask(node);
                let op = Op::Raise { ticket, token };
                nodes.send(node, self.number, &self.request.name, op);
            }
        }
    }
}

impl<N: Name> TicketState<N> {
    /// Returns whether another waiter may share the lock.
    fn won(&mut self, nodes: &mut Nodes<'_, '_, N>, token: u64) -> bool {
        self.phase = Phase::Held(token);
        self.collisions = 0;
        let may_share = self.wake_queue.is_some() && self.share.units < self.share.capacity;
        self.leave_wake_queue(nodes, true);
        may_share
    }
}

/// The units that a holder keeps; 0 for all.
pub(super) fn kept_units<N>(request: &Request<N>) -> u32 {
    match request.op {
        Op::Touch { units, .. } => units,
        _ => 0,
    }
}

fn token_of(reply: &Reply) -> Option<u64> {
    match reply {
        Reply::Granted { token, .. } => Some(*token),
        _ => None,
    }
}
