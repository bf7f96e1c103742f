//! Applies an answer or a message to the state of a ticket at one node, whichever job waits for the answer.

use auto_mutex_core::store::{Answer, Lease, Message, Name, Op, Reply, Request, Ticket};

use super::machine::Quorum;
use super::nodes::NOBODY;
use super::ticket::{Phase, TicketState, find};
use super::wake_queue::is_wake_queue;

impl Quorum {
    pub(super) fn note(&mut self, node: usize, answer: &Answer) {
        let Answer { request, result } = answer;
        match (&request.op, result) {
            // A release in a wake queue is not repeated, because places there expire within seconds.
            (Op::Release { .. }, _) if is_wake_queue(&request.name) => {}
            (Op::Release { ticket, .. }, Ok(_)) => self.nodes.note_released(node, *ticket),
            (Op::Release { .. }, Err(_)) => self.note_unreleased(node, answer),
            (Op::Signal { .. }, Ok(Reply::Signalled { count })) => {
                self.note_woken(&request.name, *count);
            }
            _ => {
                let known = find(&mut self.tickets, request);
                match known.map(|(ticket, state)| (ticket, state.name == request.name)) {
                    Some((ticket, true)) => self.note_ticket(node, ticket, answer),
                    Some((ticket, false)) => self.note_place(node, ticket, answer),
                    None => {}
                }
            }
        }
    }

    fn note_ticket(&mut self, node: usize, ticket: Ticket, answer: &Answer) {
        let Answer { request, result } = answer;
        let Some(state) = self.tickets.get_mut(&ticket) else {
            return;
        };
        let listens = state.listens();
        let on = &mut state.on[node];
        if matches!(request.op, Op::Acquire { .. } | Op::Adopt { .. }) {
            on.unanswered = on.unanswered.saturating_sub(1);
        }
        match (&request.op, result) {
            (_, Ok(Reply::Granted { token, signal })) if listens => {
                let signal = signal.clone().unwrap_or_default();
                self.notified(node, ticket, (*token, signal), None);
            }
            (_, Ok(Reply::Granted { token, .. })) if on.open => {
                self.keep_up(node, ticket, *token);
            }
            // An answer to an older request than the last acquire is outdated.
            (
                Op::Touch {
                    lease: Lease { counter, .. },
                    ..
                },
                Ok(Reply::Gone),
            ) if *counter >= on.acquired => {
                on.open = false;
            }
            (Op::Acquire { .. } | Op::Adopt { .. }, Err(error)) => {
                on.late |= error.is_disconnected();
            }
            (_, Ok(Reply::Granted { .. } | Reply::Queued { .. })) => {}
            // The node refused the ticket, and no other acquire is in flight.
            (Op::Acquire { .. } | Op::Adopt { .. }, Ok(_)) if on.unanswered == 0 => {
                on.open = false;
            }
            _ => {}
        }
    }

    /// `node` refused a release, or its connection broke before it answered.
    fn note_unreleased(&mut self, node: usize, answer: &Answer) {
        let (Op::Release { ticket, .. }, Err(error)) = (&answer.request.op, &answer.result) else {
            return;
        };
        let mut op = answer.request.op.clone();
        if let Op::Release { tomb, .. } = &mut op {
            // A copy of the acquire may still arrive, so the next release must leave a tombstone.
            *tomb |= error.is_disconnected();
            if let Some(state) = self.tickets.get_mut(ticket) {
                state.on[node].tombed |= *tomb;
            }
        }
        let Request { name, .. } = &answer.request;
        self.nodes.note_unreleased(node, name, &op, error, self.now);
    }

    /// `node` granted after enough other nodes had granted: raises its token to the token that the others have.
    fn keep_up(&mut self, node: usize, ticket: Ticket, granted: u64) {
        if let Some(state) = self.tickets.get(&ticket)
            && let Phase::Held(token) = state.phase
            && granted < token
        {
            let op = Op::Raise { ticket, token };
            self.nodes.send(node, NOBODY, &state.name, op);
        }
    }

    pub(super) fn told(&mut self, node: usize, name: &Name, message: Message) {
        let Some(ticket) = message.ticket() else {
            // Each node passes the probe on. The member ignores a probe that it has already received.
            return self.tell(name, message);
        };
        let majority = self.nodes.majority();
        let Some(state) = self.tickets.get_mut(&ticket) else {
            return;
        };
        let passes_on = match message {
            Message::Grant { token, .. } if *name != state.name => {
                return self.woken(node, ticket, token);
            }
            Message::Grant {
                token, ref signal, ..
            } => {
                let signal = signal.clone().unwrap_or_default();
                return self.notified(node, ticket, (token, signal), Some(message));
            }
            Message::Near { .. } | Message::Ask { .. } => state.phase == Phase::Listening,
            // Each node reports the loss, but the member must get only one message.
            Message::Lost { .. } => {
                let lost = |state: &TicketState| state.on.iter().filter(|on| on.lost).count();
                let before = lost(state);
                state.on[node].lost = true;
                before < majority && lost(state) >= majority
            }
            Message::Probe { .. } => false,
            Message::Refresh { .. } => {
                state.on[node].refreshed += 1;
                let first = state.on[node].refreshed > state.refreshed;
                state.refreshed = state.refreshed.max(state.on[node].refreshed);
                first
            }
        };
        if passes_on {
            self.tell(name, message);
        }
    }
}
