//! Calls come, and go before they are served.

use alloc::vec::Vec;

use super::Step;
use super::call::{AskId, CallId, Caller};
use super::ticket::Ticket;
use crate::Instant;

impl<C: Caller> Step<'_, '_, C> {
    #[inline]
    pub(super) fn enter(&mut self, caller: C) {
        let Some(waiter) = self.enter_kept(caller) else {
            return;
        };
        if self.refuses(&waiter) {
            return;
        }
        if waiter.want().patience.queues() {
            let first = self.state.first_deadline.get_or_insert(Instant::NEVER);
            *first = waiter.call().deadline().min(*first);
            self.state.waiters.push_back(waiter);
            if self.state.waiting().any(|(_, waiting)| waiting.queued) {
                self.limit_waiters();
            }
        } else {
            self.attempt(waiter, None, 1);
        }
    }

    pub(super) fn give_up(&mut self, call: CallId, ask: Option<AskId>) {
        if let Some(index) = self.state.find_waiter(call) {
            self.state.waiters.remove(index);
        }
        let is_of =
            |ticket: &Ticket<C>| ticket.attempting().is_some_and(|it| it.caller.id() == call);
        let attempt = self.state.tickets.iter().position(is_of);
        let unasked = match attempt {
            Some(index) => self.withdraw_attempt(index, ask),
            None => ask,
        };
        self.nothing_to_confirm(unasked);
    }

    /// The calls have failed.
    pub(super) fn dismiss(&mut self, calls: &[CallId]) {
        let leaves = |caller: &C| calls.binary_search(&caller.id()).is_ok();
        self.state.waiters.retain(|waiter| !leaves(waiter));
        self.withdraw_attempts(|_, caller| leaves(caller));
    }

    pub(super) fn withdraw_attempts(&mut self, which: impl Fn(&Ticket<C>, &C) -> bool) -> Vec<C> {
        let mut calls = Vec::new();
        let mut index = 0;
        while let Some(ticket) = self.state.tickets.get(index) {
            match ticket.attempting() {
                Some(attempt) if which(ticket, &attempt.caller) => {
                    calls.push(attempt.caller.clone());
                    self.withdraw(index);
                }
                _ => index += 1,
            }
        }
        calls
    }
}
