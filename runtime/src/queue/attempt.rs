//! Attempts that do not wait in the store: `block = 0`, `try_lock`, `retries`, adoptions.

use std::sync::Arc;

use super::lock_queue::Transition;
use super::ticket::{Attempt, SendLog};
use super::waiter::Waiter;
use crate::clock::Instant;
use crate::store::{Mode, Op, Ticket};

impl Transition<'_> {
    /// Sends an attempt that does not wait in the store.
    pub(super) fn attempt(&mut self, waiter: Arc<Waiter>, adopts: Option<Ticket>, number: u32) {
        let mut attempt = Attempt {
            log: SendLog::new(self.now),
            hold: self.lease_for(&waiter.want),
            waiter,
            adopts,
            number,
            next: None,
            again: Instant::NEVER,
            holder: None,
            trouble: None,
        };
        self.send_attempt(&mut attempt);
        self.state.attempts.push(attempt);
    }

    /// Sends it, or sends it again.
    pub(super) fn send_attempt(&mut self, attempt: &mut Attempt) {
        let want = &attempt.waiter.want;
        let (ticket, counter) = (attempt.log.ticket, attempt.log.next(self.now));
        let (hold, place) = (attempt.hold, self.local.lease());
        let op = match attempt.adopts {
            Some(old) => Op::Adopt {
                old,
                ticket,
                counter,
                hold,
                place,
                meta: want.meta.clone(),
            },
            None => Op::Acquire {
                ticket,
                counter,
                share: want.share.clone(),
                hold,
                place,
                mode: Mode::Try,
                meta: want.meta.clone(),
            },
        };
        self.submit(op);
    }
}
