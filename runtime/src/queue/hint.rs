//! The store tells something unasked: a message of the member's channel, or that the connection is back.

use std::time::Duration;

use super::ask::Granted;
use super::lock_queue::Transition;
use super::ticket::Ask;
use crate::store::Message;
use crate::store::limits::{CLAIM_MS, NEAR_MS, TOKENS_END};

/// The longest lease that a message may grant.
const CLAIM: Duration = Duration::from_millis(CLAIM_MS);

impl Transition<'_> {
    pub(super) fn told(&mut self, message: &Message) {
        match *message {
            Message::Grant {
                ticket,
                token,
                counter,
                hold,
                ref signal,
            } => {
                let Some(index) = self.find_ask(ticket) else {
                    return;
                };
                let mut ask = self.state.asks.remove(index);
                let valid = ask.log.validity(counter, hold.min(ask.hold));
                let closing = self.closing();
                let closed = closing.is_some_and(|closing| self.now < closing.until);
                if self.now < valid && !closed && is_plausible(&ask, token, hold) {
                    ask.log.executed(counter);
                    self.granted(
                        index,
                        ask,
                        &Granted {
                            token,
                            counter,
                            valid,
                            provisional: true,
                            signal: signal.clone(),
                        },
                    );
                } else {
                    // Too late to be shown, or not something that a store would say, or say now: ask.
                    self.touch_ask(&mut ask);
                    self.state.asks.insert(index, ask);
                }
            }
            Message::Ask { ticket } => self.ask_again(|ask| ask.log.ticket == ticket),
            Message::Near { ticket } => {
                let soon = self.now.after(Duration::from_millis(NEAR_MS));
                if let Some(index) = self.find_ask(ticket) {
                    let ask = &mut self.state.asks[index];
                    ask.again = ask.again.min(soon);
                }
            }
            Message::Refresh { ticket, expire } => {
                if let Some(index) = self.find_held(ticket) {
                    let mut held = self.state.held.swap_remove(index);
                    held.hold.restart(Some(expire), self.now);
                    self.touch_held(&mut held);
                    self.state.held.push(held);
                }
            }
            Message::Lost { ticket } => {
                if let Some(index) = self.find_held(ticket) {
                    let mut held = self.state.held.swap_remove(index);
                    self.touch_held(&mut held);
                    self.state.held.push(held);
                }
            }
        }
    }

    pub(super) fn reconnected(&mut self) {
        self.ask_again(|_| true);
        let mut attempts = std::mem::take(&mut self.state.attempts);
        for attempt in attempts.iter_mut().filter(|attempt| attempt.next.is_none()) {
            self.send_attempt(attempt);
        }
        self.state.attempts.append(&mut attempts);
        let mut held = std::mem::take(&mut self.state.held);
        for held in &mut held {
            self.touch_held(held);
        }
        self.state.held.append(&mut held);
        let mut leaving = std::mem::take(&mut self.state.leaving);
        for leaving in &mut leaving {
            self.send_leaving(leaving);
        }
        self.state.leaving.append(&mut leaving);
        self.ask_queries_again();
    }
}

/// Whether a store that follows the protocol could grant this to `ask`.
fn is_plausible(ask: &Ask, token: u64, hold: Duration) -> bool {
    let last = ask.holder.as_ref().map_or(0, |holder| holder.token);
    // Whoever joins its owner has the owner's token.
    let later = token > last || token == last && !ask.share.owner.is_empty();
    hold <= CLAIM && later && token < TOKENS_END
}
