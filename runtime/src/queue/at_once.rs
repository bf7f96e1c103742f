//! What is free when it is asked for, in a store that answers at once: no waiter is needed.

use std::sync::Arc;
use std::time::Duration;

use super::ask::Granted;
use super::hold::Hold;
use super::lock_queue::Transition;
use super::waiter::Want;
use crate::store::{Answer, Reply};

impl Transition<'_> {
    /// Asks for what nobody here waits for. Unless the store grants it at once, the ticket waits there for whoever joins
    /// the local queue next: that is for the caller to do.
    pub(super) fn at_once(&mut self, want: &Want) -> Option<Arc<Hold>> {
        let state = &*self.state;
        if !(state.waiters.is_empty() && state.asks.is_empty() && state.answers.is_empty()) {
            return None;
        }
        let mut ask = self.new_ask(want);
        self.send_ask(&mut ask, want);
        let (token, signal) = match self.state.answers.pop_back() {
            Some(Answer {
                result: Ok(Reply::Granted { token, signal }),
                ..
            }) => (token, signal),
            other => {
                self.state.answers.extend(other);
                self.state.asks.push(ask);
                return None;
            }
        };
        let counter = u64::from(ask.log.count());
        let granted = Granted {
            token,
            counter,
            valid: ask.log.validity(counter, ask.hold),
            provisional: false,
            signal,
        };
        let (ticket, lease) = (ask.log.ticket, ask.hold);
        let how = (Duration::ZERO, 1);
        let hold = self.local.new_hold(want, ticket, &granted, how, self.now);
        self.share_with_owner(&hold);
        self.keep(hold.clone(), want, ask.log, lease, &granted);
        Some(hold)
    }
}
