//! What an answer or a message says about a ticket on one node, whoever waits for it.

use std::time::Duration;

use super::entry::{Entry, Phase};
use super::nodes::Purpose;
use super::owed::Leave;
use super::state::{Due, Quorum};
use crate::clock::Instant;
use crate::name::Name;
use crate::store::limits::LONGEST_LEASE_MS;
use crate::store::{Answer, Message, Op, Reply, Ticket};

/// The longest that a lease can last on a server.
const LONGEST_LEASE: Duration = Duration::from_millis(LONGEST_LEASE_MS);
/// How soon a release is sent again that a node has refused.
const AGAIN: Duration = Duration::from_millis(200);

impl Quorum {
    pub(super) fn note(&mut self, node: usize, answer: &Answer) {
        let request = &answer.request;
        if let Some(leave) = Leave::of(&request.op) {
            return match &answer.result {
                _ if Purpose::of(request.id) == Purpose::PLACE => {}
                Ok(_) => self.nodes.paid(node, leave.ticket),
                Err(error) => self.unreleased(node, &request.name, leave, error.is_disconnected()),
            };
        }
        if let (Op::Signal { .. }, Ok(Reply::Signalled { count })) = (&request.op, &answer.result) {
            return self.crowds.woke(&request.name, *count > 0, self.now);
        }
        let Some(ticket) = request.op.ticket() else {
            return;
        };
        let Some(entry) = self.tickets.get_mut(&ticket) else {
            return;
        };
        if request.name != entry.name {
            return self.note_side(node, ticket, answer);
        }
        if entry.want.share.capacity == 0 {
            self.note_notified(node, ticket, answer);
        }
        let Some(entry) = self.tickets.get_mut(&ticket) else {
            return;
        };
        let at = &mut entry.at[node];
        if matches!(request.op, Op::Acquire { .. } | Op::Adopt { .. }) {
            at.awaited = at.awaited.saturating_sub(1);
        }
        match (&request.op, &answer.result) {
            (_, Ok(Reply::Granted { token, .. })) if at.open => {
                at.token = *token;
                self.keep_up(node, ticket);
            }
            // What is older than the last acquire says nothing any more.
            (Op::Touch { counter, .. }, Ok(Reply::Gone)) if *counter >= at.asked => {
                at.open = false;
                at.token = 0;
            }
            (_, Ok(_)) => {}
            (Op::Acquire { .. } | Op::Adopt { .. }, Err(error)) => {
                at.late |= error.is_disconnected();
            }
            (_, Err(_)) => {}
        }
    }

    /// `node` has not answered a release, or refused it.
    fn unreleased(&mut self, node: usize, name: &Name, mut leave: Leave, is_unanswered: bool) {
        leave.tomb |= is_unanswered;
        if let Some(entry) = self.tickets.get_mut(&leave.ticket) {
            entry.at[node].tombed |= leave.tomb;
        }
        let until = match is_unanswered {
            true => Instant::NEVER,
            false => self.now.after(LONGEST_LEASE),
        };
        self.nodes.owe(node, name, leave, (self.now, until));
        if !is_unanswered && self.nodes.must_pay_again(node) {
            self.arm(self.now.after(AGAIN), Due::Owed(node));
        }
    }

    /// A node that granted later than enough others gets the token that they all have.
    fn keep_up(&mut self, node: usize, ticket: Ticket) {
        let Some(entry) = self.tickets.get(&ticket) else {
            return;
        };
        if let Phase::Held(token) = entry.phase
            && entry.at[node].token < token
        {
            let op = Op::Raise { ticket, token };
            self.nodes.send(node, Purpose::NOBODY, &entry.name, op);
        }
    }

    pub(super) fn told(&mut self, node: usize, name: &Name, message: Message) {
        let (Message::Grant { ticket, .. }
        | Message::Near { ticket }
        | Message::Lost { ticket }
        | Message::Refresh { ticket, .. }
        | Message::Ask { ticket }) = message;
        let majority = super::enough::majority(self.nodes.len());
        let Some(entry) = self.tickets.get_mut(&ticket) else {
            return;
        };
        let passes_on = match message {
            Message::Grant { token, .. } if *name != entry.name => {
                return self.woken(node, ticket, token);
            }
            Message::Grant {
                token, ref signal, ..
            } => {
                let signal = signal.clone().unwrap_or_default();
                return self.notified(node, ticket, (token, signal), Some(message));
            }
            Message::Near { .. } | Message::Ask { .. } => entry.phase == Phase::Listening,
            // Each node tells it: the member hears of it once.
            Message::Lost { .. } => {
                let lost = |entry: &Entry| entry.at.iter().filter(|at| at.lost).count();
                let before = lost(entry);
                entry.at[node].lost = true;
                before < majority && lost(entry) >= majority
            }
            Message::Refresh { .. } => {
                entry.at[node].refreshed += 1;
                let first = entry.at[node].refreshed > entry.refreshed;
                entry.refreshed = entry.refreshed.max(entry.at[node].refreshed);
                first
            }
        };
        if passes_on {
            self.tell(name.clone(), message);
        }
    }
}
