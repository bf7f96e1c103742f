//! Waiting for a notification: the ticket queues on every node, and the first node that notifies it wakes it. A
//! notification reaches a majority, and thus at least one node on which the ticket waits. All nodes send it with the
//! same text, and it counts once. A different or late one goes to that node's next waiter.

use alloc::sync::Arc;
use core::time::Duration;

use super::Step;
use super::env::Name;
use super::job::{Job, Kind};
use super::nodes::Nodes;
use super::ticket::{Phase, TicketState, find};
use super::votes::{Vote, Votes, is_granted};
use crate::{Message, Op, Reply, Request, StoreError};

impl<N: Name> Step<'_, '_, N> {
    pub(super) fn listen(&mut self, request: Request<N>) {
        let touches = matches!(request.op, Op::Touch { .. });
        let mut job = self.new_job(request, Kind::Listen);
        let Some(state) = find(&mut self.rounds.tickets, &job.request) else {
            return;
        };
        let nodes = &mut self.nodes;
        state.job = Some(job.number);
        for node in nodes.reachable() {
            if matches!(state.phase, Phase::Notified(by, _) if by != node) {
                continue;
            }
            if touches {
                state.touch_on(nodes, node, &mut job);
            } else {
                job.votes.ask(node);
                state.acquire_on(nodes, node, job.number);
            }
        }
        if state.phase == Phase::Wanting {
            state.phase = Phase::Listening;
        }
        self.decide(job);
    }

    pub(super) fn listening_result(&mut self, job: &Job<N>) -> Option<Result<Reply, StoreError>> {
        let Some(state) = find(&mut self.rounds.tickets, &job.request) else {
            return Some(Ok(Reply::Gone));
        };
        let Some(node) = notified_by(state, &job.votes) else {
            return self.waiting_result(&job.votes);
        };
        Some(match job.votes.of(node) {
            Vote::Unanswered => return None,
            // The node didn't accept the claim, so the notification may go to another waiter. The ticket can't wait any
            // longer, because it no longer renews its places on the other nodes.
            Vote::Answered(Ok(reply)) if place_in(reply).is_some() => Ok(Reply::Gone),
            Vote::Answered(Ok(reply)) => Ok(reply.clone()),
            Vote::Answered(Err(_)) | Vote::None => {
                Err(self.nodes.unreachable(self.nodes.majority()))
            }
        })
    }

    fn waiting_result(&self, votes: &Votes) -> Option<Result<Reply, StoreError>> {
        let majority = self.nodes.majority();
        let places = votes.replies().filter_map(place_in);
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
            let refusal = votes.replies().find(|reply| place_in(reply).is_none());
            return Some(Ok(refusal.cloned().unwrap_or(Reply::Gone)));
        }
        Some(Err(self.nodes.trouble(votes, majority)))
    }

    /// `node` is connected again, and a ticket that waits there may have missed its notification.
    pub(super) fn listen_again(&mut self, node: usize) {
        for (&ticket, state) in &self.rounds.tickets {
            if state.phase == Phase::Listening && state.on[node].open {
                self.nodes.tell(&state.name, Message::Ask { ticket });
            }
        }
    }
}

impl<N: Name> TicketState<N> {
    /// Returns whether `node` is the first.
    pub(super) fn notified(
        &mut self,
        nodes: &mut Nodes<'_, '_, N>,
        node: usize,
        token: u64,
        signal: Arc<str>,
    ) -> bool {
        match &self.phase {
            Phase::Listening => {
                self.phase = Phase::Notified(node, signal);
                return true;
            }
            Phase::Notified(by, known) if *by != node => {
                let used = if *known == signal { token } else { 0 };
                self.withdraw_from(nodes, node, used);
            }
            _ => {}
        }
        false
    }
}

fn notified_by<N>(state: &TicketState<N>, votes: &Votes) -> Option<usize> {
    if let Phase::Notified(by, _) = state.phase {
        return Some(by);
    }
    (0..votes.len()).find(|node| votes.reply(*node).is_some_and(is_granted))
}

fn place_in(reply: &Reply) -> Option<(u64, Duration)> {
    match reply {
        Reply::Queued {
            position, again, ..
        } => Some((*position, *again)),
        _ => None,
    }
}
