//! Lending a name to the only client of the store, which grants and releases it until the name is taken back.

use super::State;
use crate::store::{Clock, Loan, MemberId, Op};

impl State {
    /// What a client must know to grant and release the name by itself, if nobody has to do with it.
    pub(crate) fn lend(&self, clock: Clock) -> Option<Loan> {
        self.is_idle()
            .then(|| Loan::new(clock, self.token, self.clock))
    }

    /// As if every grant and release of `loan` had been told at its time; `held`: the acquire that the last grant answered,
    /// if that is still held.
    pub(crate) fn take_back(&mut self, member: MemberId, loan: &Loan, held: Option<&Op>) {
        self.known = true;
        self.last_signal = 0;
        // The time may have been read before that of the operation before.
        self.clock = self.clock.max(loan.last());
        self.token = loan.token();
        if let Some(acquire) = held {
            // It gets the same token again.
            self.token -= 1;
            self.apply(self.clock, member, acquire, &mut |_, _| false);
        }
    }
}
