//! Handles what the store reports without a request: a message on the member's channel, or a new connection.

use std::time::Duration;

use super::lock_queue::Transition;
use super::ticket::{Granted, TicketState, Waiting};
use crate::clock::Instant;
use crate::store::Message;
use crate::store::limits::{CLAIM_MS, NEAR_MS, TOKENS_END};

/// The longest lease that a message may grant.
const CLAIM: Duration = Duration::from_millis(CLAIM_MS);

impl Transition<'_> {
    pub(super) fn told(&mut self, message: &Message) {
        let (Message::Grant { ticket, .. }
        | Message::Ask { ticket }
        | Message::Near { ticket }
        | Message::Lost { ticket }
        | Message::Refresh { ticket, .. }) = *message
        else {
            return;
        };
        let Some(index) = self.state.find(ticket) else {
            return;
        };
        let ticket = &mut self.state.tickets[index];
        match (&ticket.state, message) {
            (
                TicketState::Waiting(_),
                &Message::Grant {
                    token,
                    counter,
                    hold,
                    ref signal,
                    ..
                },
            ) => {
                let granted = Granted {
                    token,
                    counter,
                    valid: ticket.log.validity(counter, hold.min(ticket.lease)),
                    provisional: true,
                    lease: hold,
                    signal: signal.clone(),
                };
                self.told_grant(index, &granted);
            }
            (TicketState::Waiting(_), Message::Ask { .. }) => self.send(index),
            (TicketState::Waiting(_), Message::Near { .. }) => {
                ticket.again = ticket
                    .again
                    .min(self.now.after(Duration::from_millis(NEAR_MS)));
            }
            // The message may be outdated, so the answer to a renewal decides whether the hold is lost.
            (TicketState::Held(_), Message::Lost { .. }) => {
                if let Some(held) = ticket.held_mut() {
                    held.forced = true;
                }
                self.send(index);
            }
            (TicketState::Held(held), Message::Refresh { expire, .. }) => {
                held.hold.restart(Some(*expire), self.now);
                self.send(index);
            }
            _ => {}
        }
    }

    /// Handles a message: during another client's operation, the store has granted the waiting ticket at `index`.
    fn told_grant(&mut self, index: usize, granted: &Granted) {
        let closing = self.closing();
        let closed = closing.is_some_and(|closing| self.now < closing.until);
        let ticket = &mut self.state.tickets[index];
        let plausible = ticket
            .waiting()
            .is_some_and(|waiting| is_plausible(waiting, granted));
        if self.now >= granted.valid || closed || !plausible {
            // The grant came too late to be proved valid, or a correct store would not send it now. So a touch asks the
            // store.
            ticket.again = Instant::NEVER;
            let op = ticket.touch_waiting(self.now, self.queue.lease());
            return self.submit(op);
        }
        ticket.log.executed(granted.counter);
        self.granted(index, granted);
    }

    /// Resends every request that may not have arrived. Waiting tickets keep the order of their waiters.
    pub(super) fn reconnected(&mut self) {
        let mut order: Vec<_> = (0..self.state.tickets.len()).collect();
        order.sort_by_key(|&index| self.state.tickets[index].rank());
        for index in order {
            // The first request of a resting attempt is sent later.
            if !self.state.tickets[index].is_resting() {
                self.send(index);
            }
        }
        self.ask_queries_again();
    }
}

/// Whether a store that follows the protocol could send the grant to a `waiting` ticket.
fn is_plausible(waiting: &Waiting, granted: &Granted) -> bool {
    let token = granted.token;
    let last = waiting.holder.as_ref().map_or(0, |holder| holder.token);
    // If the owner of the ticket already holds the name, the grant has the token of that hold.
    let later = token > last || token == last && !waiting.share.owner.is_empty();
    granted.lease <= CLAIM && later && token < TOKENS_END
}
