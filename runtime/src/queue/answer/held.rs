//! The answer to a renewal or a claim.

use super::{Asked, RETRY};
use crate::error::StoreErrorKind;
use crate::queue::lock_queue::Transition;
use crate::queue::ticket::Held;
use crate::store::Reply;

impl Transition<'_> {
    pub(super) fn answer_held(&mut self, mut held: Held, asked: Asked) {
        let token = held.hold.grant().token / 1024;
        match asked.result {
            // Another token: the store had passed it on and granted it anew. Ours is over.
            Ok(Reply::Granted { token: same, .. }) if same == token => {
                if let Some(sent) = held.log.at(asked.counter) {
                    held.hold.renewed(sent.validity(asked.hold));
                }
                held.log.executed(asked.counter);
                if held.hold.is_valid() {
                    held.refreshed(asked.counter, self);
                    self.state.held.push(held);
                } else {
                    self.lose(held);
                }
            }
            Ok(_) => self.lose(held),
            Err(error) if error.kind() == StoreErrorKind::Foreign => self.lose(held),
            Err(error) => {
                // Until its deadline the lock is ours; after a reconnect everything is touched anyway.
                let name = self.local.name().clone();
                if let Some(others) = self.local.member().failed_renewals.again(self.now) {
                    self.wakes.report(
                        move || tracing::warn!(%name, %error, others, "renewal failed, trying again"),
                    );
                }
                held.renew = held.renew.min(self.now.after(RETRY));
                self.state.held.push(held);
            }
        }
    }
}
