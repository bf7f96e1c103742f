//! A round of an acquire asks all nodes at once. If enough have granted, but no majority gave the same token, it writes
//! a new one to them before the grant counts. If too few have granted, it releases their grants.

use std::time::Duration;

use auto_mutex_core::StoreError;
use auto_mutex_core::store::{Mode, Op, Reply, Request, Ticket};

use super::job::{Job, Kind};
use super::machine::Quorum;
use super::ticket::{Phase, TicketState, find};
use super::votes::{Vote, Votes, is_granted, most_frequent};

/// How long a round waits for slow nodes after others have refused: three times its duration so far, within this range.
const GRACE: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(500));
/// How far the written token is ahead of the granted ones, in microseconds. A node that grants late is raised to it, and
/// all nodes give the same next token until their clocks reach it.
const AHEAD: u64 = 10_000;
/// The most that is added to [`AHEAD`] at random, so that two members rarely write the same token.
const SPREAD: u64 = 1_000;

impl Quorum {
    pub(super) fn ticket_asked(&mut self, request: Request) {
        let Some(ticket) = request.op.ticket() else {
            return;
        };
        if !self.tickets.contains_key(&ticket) {
            let Some(state) = TicketState::new(&request, self.nodes.len()) else {
                return self.answer(request, Ok(Reply::Gone));
            };
            self.sweep();
            self.tickets.insert(ticket, state);
        }
        let Some(state) = self.tickets.get_mut(&ticket) else {
            return;
        };
        if state.job.is_some() {
            return state.later.push_back(request);
        }
        state.begin(&request.op, self.now);
        if state.listens() {
            return self.listen(request, ticket);
        }
        if let Phase::Held(_) = state.phase {
            return self.renew(request, ticket);
        }
        // A store never answers a ticket's first request with "gone" or "refused", so that always makes a round.
        if state.is_worn() && state.lease.counter > 1 {
            return self.end(request, Ok(Reply::Refused));
        }
        let is_new = state.mode == Mode::Queue && state.wake_queue.is_none();
        let head_start = self.head_start(&request.name).filter(|_| is_new);
        match head_start {
            Some(head_start) => self.pause(request, head_start),
            None => self.round(request),
        }
    }

    /// Ends a ticket's job. Without a grant or a place, the ticket leaves all nodes; otherwise its next request starts.
    pub(super) fn end(&mut self, request: Request, result: Result<Reply, StoreError>) {
        let Some(ticket) = request.op.ticket() else {
            return;
        };
        let is_over = match &result {
            Ok(reply) => !matches!(reply, Reply::Granted { .. } | Reply::Queued { .. }),
            Err(_) => false,
        };
        self.answer(request, result);
        if is_over {
            return self.withdraw(ticket);
        }
        if let Some(state) = self.tickets.get_mut(&ticket) {
            state.job = None;
        }
        while let Some(state) = self.tickets.get_mut(&ticket)
            && state.job.is_none()
            && let Some(request) = state.later.pop_front()
        {
            self.ticket_asked(request);
        }
    }

    pub(super) fn round(&mut self, request: Request) {
        let mut job = self.new_job(request, Kind::Round);
        let Some((ticket, state)) = find(&mut self.tickets, &job.request) else {
            return self.answer(job.request, Ok(Reply::Gone));
        };
        let enough = state.needed();
        let usable = |node: &usize| self.nodes.is_up(*node) && !state.on[*node].tombed;
        let usable: Vec<_> = self.nodes.indices().filter(usable).collect();
        if usable.len() < enough {
            let error = self.unreachable(enough);
            return self.end(job.request, Err(error));
        }
        state.rounds += 1;
        state.woken = false;
        state.job = Some(job.number);
        job.ends = self.now.after(state.lease.hold);
        let queues = state.wake_queue.is_some();
        for node in usable {
            if queues {
                self.queue_on(node, ticket);
            }
            job.votes.ask(node);
            self.acquire_on(node, ticket, job.number);
        }
        self.keep(job);
    }

    pub(super) fn acquire_on(&mut self, node: usize, ticket: Ticket, job: u64) {
        let Some(state) = self.tickets.get_mut(&ticket) else {
            return;
        };
        let on = &mut state.on[node];
        (on.open, on.lost, on.acquired) = (true, false, state.lease.counter);
        on.unanswered += 1;
        let op = state.acquire();
        self.nodes.send(node, job, &state.name, op);
    }

    pub(super) fn decide_round(&mut self, mut job: Job) {
        let Some((_, state)) = find(&mut self.tickets, &job.request) else {
            return self.answer(job.request, Ok(Reply::Gone));
        };
        let (enough, majority) = (state.needed(), self.nodes.majority());
        let is_owned = !state.share.owner.is_empty();
        let is_over = job.ends <= self.now;
        let granted = job.votes.count(is_granted);
        let (unanswered, answered) = (job.votes.unanswered(), job.votes.answered());
        let possible = granted + unanswered >= enough;
        let took = job.began.until(self.now);
        let grace = (took * 3).clamp(GRACE.0, GRACE.1);
        if !is_over && granted >= enough {
            let tokens = job.votes.replies().filter_map(token_of);
            let (token, same) = most_frequent(tokens, |token| *token).unwrap_or_default();
            if same >= majority {
                self.took = took;
                return self.won(job.request, token);
            }
            // Holders of one owner share a token, so no new one is chosen while a majority may still give the same.
            let waits = is_owned && job.token == 0 && same + unanswered >= majority;
            if !waits || !job.is_in_grace(self.now, grace) {
                self.raise(&mut job);
            }
        } else if is_over
            || !possible && (answered >= majority || unanswered == 0)
            || answered >= majority && answered > granted && !job.is_in_grace(self.now, grace)
        {
            return self.lost(job);
        }
        self.keep(job);
    }

    /// Writes a greater token to the nodes that have granted different ones. A node that has already given it to another
    /// ticket answers with its next token; then a still greater one is written.
    fn raise(&mut self, job: &mut Job) {
        let Some(ticket) = job.request.op.ticket() else {
            return;
        };
        if job.second.unanswered() == 0 {
            let tokens = job.votes.replies().filter_map(token_of);
            let highest = tokens.max().unwrap_or(0);
            if highest >= job.token {
                job.token = highest + AHEAD + self.jitter.below(SPREAD);
                job.second = Votes::new(self.nodes.len());
            }
        }
        let token = job.token;
        for node in self.nodes.indices() {
            let lower = match job.votes.of(node) {
                Vote::Answered(reply) => token_of(reply).is_some_and(|given| given < token),
                _ => false,
            };
            if lower && matches!(job.second.of(node), Vote::None) {
                job.second.ask(node);
                let op = Op::Raise { ticket, token };
                self.nodes.send(node, job.number, &job.request.name, op);
            }
        }
    }

    fn won(&mut self, request: Request, token: u64) {
        let Some((ticket, state)) = find(&mut self.tickets, &request) else {
            return;
        };
        state.phase = Phase::Held(token);
        state.collisions = 0;
        let may_share = state.wake_queue.is_some() && state.share.units < state.share.capacity;
        self.leave_wake_queue(ticket, true);
        // The units that are left may be enough for another waiter.
        if may_share {
            self.wake_one(&request.name);
        }
        let signal = None;
        self.end(request, Ok(Reply::Granted { token, signal }));
    }
}

fn token_of(reply: &Reply) -> Option<u64> {
    match reply {
        Reply::Granted { token, .. } => Some(*token),
        _ => None,
    }
}
