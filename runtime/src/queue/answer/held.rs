//! Handles the answer to a renewal or a claim.

use super::{Asked, RETRY};
use crate::error::{LossCause, StoreError, StoreErrorKind};
use crate::observe::{HOLD, Metric};
use crate::queue::lock_queue::Transition;
use crate::queue::ticket::TicketState;
use crate::store::Reply;
use crate::store::limits::TOKENS_OF_A_GRANT;

impl Transition<'_> {
    pub(super) fn answer_held(&mut self, index: usize, asked: Asked) {
        let ticket = &mut self.state.tickets[index];
        let TicketState::Held(held) = &mut ticket.state else {
            return;
        };
        match asked.result {
            // If the token differs, the store passed the lock on, and granted this ticket again later: our hold has
            // ended.
            Ok(Reply::Granted { token, .. })
                if token == held.hold.grant().token / TOKENS_OF_A_GRANT =>
            {
                if let Some(sent) = ticket.log.at(asked.counter) {
                    held.hold.renewed(sent.validity(asked.hold));
                }
                ticket.log.executed(asked.counter);
                held.forced = false;
                if held.hold.is_valid() {
                    held.refreshed(asked.counter, self.wakes);
                } else {
                    // The hold has already marked itself as lost, with the true cause.
                    self.lose(index, LossCause::NotRenewed);
                }
            }
            Ok(_) => self.lose_unknown(index),
            Err(error) if error.kind() == StoreErrorKind::Foreign => self.lose_unknown(index),
            Err(error) => {
                // The hold is valid until its deadline. After a reconnect every ticket is touched anyway.
                ticket.again = ticket.again.min(self.now.after(RETRY));
                self.warn_of_renewal(index, error);
            }
        }
    }

    fn warn_of_renewal(&mut self, index: usize, error: StoreError) {
        if let Some(held) = self.state.tickets[index].held() {
            let labels = held.hold.grant().labels();
            self.count(Metric::RenewalFailures, labels);
        }
        let name = self.queue.name().clone();
        if let Some(others) = self.queue.member().failed_renewals.pass(self.now) {
            self.wakes.report(move || {
                tracing::warn!(target: HOLD, %name, %error, others, "renewal failed, trying again");
            });
        }
    }
}
