//! Lends a name to the only client of the store, which grants and releases it until the store takes it back.

use super::State;
use crate::store::{Clock, Loan, MemberId, Op};

impl State {
    /// Returns the state that a client needs to grant and release the name by itself; `None` unless the name is idle.
    pub(crate) fn lend(&self, clock: Clock) -> Option<Loan> {
        self.is_idle()
            .then(|| Loan::new(clock, self.token, self.clock))
    }

    /// Sets the state to the result of all grants and releases of `loan`. `held`: the acquire of the last grant, if its
    /// ticket still holds.
    pub(crate) fn take_back(&mut self, member: MemberId, loan: &Loan, held: Option<&Op>) {
        self.known = true;
        self.last_signal = 0;
        // The client may have read the clock before the store's last operation did. Then `loan.last()` is too early.
        self.clock = self.clock.max(loan.last());
        self.token = loan.token();
        if let Some(acquire) = held {
            // The grant below must give the same token again.
            self.token -= 1;
            self.apply(self.clock, member, acquire, &mut |_, _| false);
        }
    }
}
