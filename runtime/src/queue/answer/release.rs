//! The answer to a release.

use std::time::Duration;

use super::RETRY;
use crate::error::{StoreError, StoreErrorKind};
use crate::queue::lock_queue::Transition;
use crate::store::{Reply, Ticket};

/// How soon a release is sent again that met what is not ours.
const FOREIGN: Duration = Duration::from_secs(1);

impl Transition<'_> {
    pub(super) fn answer_release(&mut self, ticket: Ticket, result: Result<Reply, StoreError>) {
        let leaving = &mut self.state.leaving;
        let Some(index) = leaving.iter().position(|leaving| leaving.ticket == ticket) else {
            return;
        };
        let answer = match result {
            // Gone may be the work of the copy before: then the local clock knows.
            Ok(reply) => Ok(match reply {
                Reply::Released { free } => Some(free),
                Reply::Gone if leaving[index].unanswered => Some(0),
                _ => None,
            }
            .filter(|_| leaving[index].held)),
            Err(error) => match error.kind() {
                StoreErrorKind::Disconnected => {
                    leaving[index].unanswered = true;
                    return;
                }
                // Whoever waits is told. But the hold may still be there beside what is foreign, and nothing but its end
                // would end it then: it is tried again until that.
                StoreErrorKind::Foreign
                    if self.now < leaving[index].over && self.local.member().is_open() =>
                {
                    leaving[index].again = self.now.after(FOREIGN);
                    let unlocker = leaving[index].unlocker.take();
                    let error = self.lock_error(error);
                    if let Some((_, promise)) = unlocker {
                        let _ = promise.complete(Err(error), self.wakes);
                    }
                    return;
                }
                StoreErrorKind::Foreign => Err(self.lock_error(error)),
                StoreErrorKind::Busy
                | StoreErrorKind::Closed
                | StoreErrorKind::Refused
                | StoreErrorKind::Forbidden
                | StoreErrorKind::Unsupported
                | StoreErrorKind::Protocol
                | StoreErrorKind::Unreplicated { .. } => {
                    let name = self.local.name().clone();
                    if let Some(others) = self.local.member().failed_releases.again(self.now) {
                        self.wakes.report(
                            move || tracing::warn!(%name, %error, others, "release failed, trying again"),
                        );
                    }
                    leaving[index].again = self.now.after(RETRY);
                    return;
                }
            },
        };
        let leaving = self.state.leaving.swap_remove(index);
        if let Some((_, promise)) = leaving.unlocker {
            let _ = promise.complete(answer, self.wakes);
        }
    }
}
