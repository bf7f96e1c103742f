//! Waiting for a notification: the ticket queues on every node, and the first that notifies it wakes it. A notification
//! reaches a majority, so at least one node on which the ticket waits. All nodes send it with the same text, and it
//! counts once; a different or late one goes to that node's next waiter.

use std::sync::Arc;
use std::time::Duration;

use auto_mutex_core::StoreError;
use auto_mutex_core::store::{Message, Op, Reply, Request, Ticket};

use super::job::{Job, Kind};
use super::machine::Quorum;
use super::nodes::NOBODY;
use super::ticket::{Phase, TicketState, find};
use super::votes::{Vote, Votes, is_granted};

impl Quorum {
    pub(super) fn listen(&mut self, request: Request, ticket: Ticket) {
        let touches = matches!(request.op, Op::Touch { .. });
        let mut job = self.new_job(request, Kind::Listen);
        for node in self.nodes.indices() {
            let Some(state) = self.tickets.get_mut(&ticket) else {
                return;
            };
            state.job = Some(job.number);
            let left = matches!(state.phase, Phase::Notified(by, _) if by != node);
            if left || !self.nodes.is_up(node) {
                continue;
            }
            if touches && !state.on[node].open {
                // It doesn't count, because it may have given a notification to other waiters meanwhile.
                self.acquire_on(node, ticket, NOBODY);
                continue;
            }
            if touches {
                let op = state.touch(0);
                self.ask(&mut job, node, op);
            } else {
                job.votes.ask(node);
                self.acquire_on(node, ticket, job.number);
            }
        }
        if let Some(state) = self.tickets.get_mut(&ticket)
            && state.phase == Phase::Wanting
        {
            state.phase = Phase::Listening;
        }
        self.decide(job);
    }

    pub(super) fn decide_listening(&mut self, job: Job) {
        let Some((_, state)) = find(&mut self.tickets, &job.request) else {
            return self.answer(job.request, Ok(Reply::Gone));
        };
        let Some(node) = notified_by(state, &job.votes) else {
            return match self.waiting_result(&job.votes) {
                Some(result) => self.end(job.request, result),
                None => self.keep(job),
            };
        };
        let result = match job.votes.of(node) {
            Vote::Unanswered => return self.keep(job),
            // The node didn't accept the claim, so the notification may go to another waiter. The ticket can't wait on:
            // it no longer renews its places on the other nodes.
            Vote::Answered(reply) if place(reply).is_some() => Ok(Reply::Gone),
            Vote::Answered(reply) => Ok(reply.clone()),
            Vote::Failed(_) | Vote::None => Err(self.unreachable(self.nodes.majority())),
        };
        self.end(job.request, result);
    }

    /// Returns the answer while no node has notified the ticket; `None` while too few nodes have answered.
    fn waiting_result(&self, votes: &Votes) -> Option<Result<Reply, StoreError>> {
        let majority = self.nodes.majority();
        let places = votes.replies().filter_map(place);
        let waiting = places.clone().count();
        if waiting >= majority {
            return Some(Ok(Reply::Queued {
                position: places.clone().map(|place| place.0).min().unwrap_or(1),
                again: places.map(|place| place.1).min().unwrap_or_default(),
                holder: None,
            }));
        }
        if waiting + votes.unanswered() >= majority {
            return None;
        }
        if votes.answered() >= majority {
            let refusal = votes.replies().find(|reply| place(reply).is_none());
            return Some(Ok(refusal.cloned().unwrap_or(Reply::Gone)));
        }
        Some(Err(self.trouble(votes, majority)))
    }

    pub(super) fn notified(
        &mut self,
        node: usize,
        ticket: Ticket,
        (token, signal): (u64, Arc<str>),
        message: Option<Message>,
    ) {
        let Some(state) = self.tickets.get_mut(&ticket) else {
            return;
        };
        match &state.phase {
            Phase::Listening => {
                state.phase = Phase::Notified(node, signal);
                let name = state.name.clone();
                if let Some(message) = message {
                    self.tell(&name, message);
                }
            }
            Phase::Notified(by, _) if *by == node => {}
            Phase::Notified(_, known) => {
                let used = if *known == signal { token } else { 0 };
                self.withdraw_from(node, ticket, used);
            }
            Phase::Wanting | Phase::Held(_) => {}
        }
    }

    /// `node` is connected again: a ticket that waits there may have missed its notification.
    pub(super) fn listen_again(&mut self, node: usize) {
        let waits = |state: &TicketState| state.phase == Phase::Listening && state.on[node].open;
        let waiting = self.tickets.iter().filter(|(_, state)| waits(state));
        for (&ticket, state) in waiting {
            self.tell(&state.name, Message::Ask { ticket });
        }
    }
}

fn notified_by(state: &TicketState, votes: &Votes) -> Option<usize> {
    if let Phase::Notified(by, _) = state.phase {
        return Some(by);
    }
    let granted =
        |node: &usize| matches!(votes.of(*node), Vote::Answered(reply) if is_granted(reply));
    (0..state.on.len()).find(granted)
}

/// The place of a waiter, and after what time it should ask again.
fn place(reply: &Reply) -> Option<(u64, Duration)> {
    match reply {
        Reply::Queued {
            position, again, ..
        } => Some((*position, *again)),
        _ => None,
    }
}
