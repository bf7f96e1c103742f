//! Applies an answer or a message to the state of a ticket on one node, whichever job waits for the answer.

use super::Step;
use super::env::Name;
use super::nodes::{NOBODY, Nodes};
use super::ticket::{Phase, TicketState, find};
use crate::{Answer, Message, Op, Reply, Request, StoreError};

impl<N: Name> Step<'_, '_, N> {
    pub(super) fn note(&mut self, node: usize, Answer { request, result }: &Answer<N>) {
        match (&request.op, result) {
            // Releases in a wake queue are not repeated, because places there expire within seconds.
            (Op::Release { .. }, _) if request.name.is_wake_queue() => {}
            (Op::Release { ticket, .. }, Ok(_)) => {
                self.nodes.all[node].pending.remove(ticket);
            }
            (Op::Release { .. }, Err(error)) => self.note_unreleased(node, request, error),
            (Op::Signal { .. }, Ok(Reply::Count(count))) => {
                self.note_woken(&request.name, *count);
            }
            (op, result) => {
                let Some(state) = find(&mut self.rounds.tickets, request) else {
                    return;
                };
                if state.name == request.name {
                    state.note(&mut self.nodes, node, op, result);
                } else if matches!(op, Op::Acquire { .. }) {
                    match result {
                        Ok(Reply::Granted { token, .. }) => {
                            let ticket = state.lease.ticket;
                            self.woken(node, ticket, *token);
                        }
                        Ok(Reply::Queued { .. }) => {}
                        _ => state.on[node].queued = None,
                    }
                }
            }
        }
    }

    fn note_unreleased(&mut self, node: usize, request: &Request<N>, error: &StoreError) {
        let mut op = request.op.clone();
        if let Op::Release { ticket, tomb, .. } = &mut op {
            // A copy of the acquire may still arrive, so the next release has to leave a tombstone.
            *tomb |= error.is_disconnected();
            if let Some(state) = self.rounds.tickets.get_mut(ticket) {
                state.on[node].tombed |= *tomb;
            }
        }
        let refused = !error.is_disconnected();
        self.nodes.add_pending(node, &request.name, &op, refused);
    }

    pub(super) fn told(&mut self, node: usize, name: &N, message: Message) {
        let Some(ticket) = message.ticket() else {
            // Members ignore probes that they have already received.
            return self.nodes.tell(name, message);
        };
        let majority = self.nodes.majority();
        let Some(state) = self.rounds.tickets.get_mut(&ticket) else {
            return;
        };
        // A copy of an earlier message says nothing new.
        if let Message::Grant { token, .. } = message {
            if token <= state.on[node].last_grant {
                return;
            }
            state.on[node].last_grant = token;
        }
        let passes_on = match &message {
            Message::Grant { token, .. } if *name != state.name => {
                return self.woken(node, ticket, *token);
            }
            Message::Grant { token, signal, .. } => {
                let signal = signal.clone().unwrap_or_default();
                state.notified(&mut self.nodes, node, *token, signal)
            }
            Message::Near { .. } | Message::Ask { .. } => state.phase == Phase::Listening,
            // Each node reports the loss, but the member gets one message.
            Message::Lost { .. } => {
                let is_new = !core::mem::replace(&mut state.on[node].lost, true);
                is_new && state.on.iter().filter(|on| on.lost).count() == majority
            }
            // A quorum has no keepers.
            Message::Probe { .. } | Message::Recall { .. } => false,
        };
        if passes_on {
            self.nodes.tell(name, message);
        }
    }
}

impl<N: Name> TicketState<N> {
    fn note(
        &mut self,
        nodes: &mut Nodes<'_, '_, N>,
        node: usize,
        op: &Op,
        result: &Result<Reply, StoreError>,
    ) {
        let listens = self.listens();
        let on = &mut self.on[node];
        let acquires = matches!(op, Op::Acquire { .. } | Op::Adopt { .. });
        if acquires {
            on.unanswered = on.unanswered.saturating_sub(1);
        }
        match (op, result) {
            (_, Ok(Reply::Granted { token, signal })) if listens => {
                self.notified(nodes, node, *token, signal.clone().unwrap_or_default());
            }
            (_, Ok(Reply::Granted { token: granted, .. })) => {
                // The node granted late, so its token is raised to the one that the others have.
                if on.open
                    && let Phase::Held(token) = self.phase
                    && *granted < token
                {
                    let ticket = self.lease.ticket;
                    nodes.send(node, NOBODY, &self.name, Op::Raise { ticket, token });
                }
            }
            // An answer to an older request than the last acquire is outdated.
            (Op::Touch { lease, .. }, Ok(Reply::Gone)) if lease.counter >= on.acquired => {
                on.open = false;
            }
            (_, Err(error)) if acquires => on.late |= error.is_disconnected(),
            (_, Ok(Reply::Queued { .. })) => {}
            // The node refused the ticket, and no other acquire is in flight.
            (_, Ok(_)) if acquires && on.unanswered == 0 => on.open = false,
            _ => {}
        }
    }
}
