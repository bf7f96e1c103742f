//! Handles the answer to a release.

use std::time::Duration;

use super::RETRY;
use crate::error::{LockError, StoreError, StoreErrorKind};
use crate::observe::HOLD;
use crate::queue::lock_queue::Transition;
use crate::queue::ticket::TicketState;
use crate::store::{Reply, Ticket as TicketId};

/// The delay before a release is sent again after it failed because of foreign data.
const FOREIGN: Duration = Duration::from_secs(1);

impl Transition<'_> {
    pub(super) fn answer_release(
        &mut self,
        id: TicketId,
        operation: [(&'static str, &'static str); 1],
        result: Result<Reply, StoreError>,
    ) {
        let Some(index) = self.state.find(id) else {
            return;
        };
        let TicketState::Leaving(leaving) = &self.state.tickets[index].state else {
            return;
        };
        let (held, unanswered, sent) = (leaving.held, leaving.unanswered, leaving.sent);
        self.note_answer(operation, sent, &result);
        match result {
            Ok(Reply::Released { free }) => self.left(index, Ok(held.then_some(free))),
            // An earlier copy of the release may have removed the ticket. So the result is `held`: whether the lock was
            // still held at the release, by the local clock.
            Ok(Reply::Gone) if unanswered => self.left(index, Ok(held.then_some(0))),
            Ok(_) => self.left(index, Ok(None)),
            Err(error) => self.release_failed(index, error),
        }
    }

    /// Removes the ticket at `index`, which the store no longer has, and gives `answer` to the caller that waits for
    /// the release.
    fn left(&mut self, index: usize, answer: Result<Option<u64>, LockError>) {
        if let TicketState::Leaving(leaving) = self.state.tickets.remove(index).state
            && let Some((_, promise)) = leaving.unlocker
        {
            let _ = promise.complete(answer, self.wakes);
        }
    }

    fn release_failed(&mut self, index: usize, error: StoreError) {
        let ticket = &mut self.state.tickets[index];
        let TicketState::Leaving(leaving) = &mut ticket.state else {
            return;
        };
        match error.kind() {
            StoreErrorKind::Disconnected => leaving.unanswered = true,
            // The caller gets the error. But the hold may still exist beside the foreign data, and only its lease
            // would end it. So the release is sent again until the lease has ended.
            StoreErrorKind::Foreign
                if self.now < leaving.over && self.queue.member().check().is_ok() =>
            {
                ticket.again = self.now.after(FOREIGN);
                let unlocker = leaving.unlocker.take();
                let error = self.lock_error(error);
                if let Some((_, promise)) = unlocker {
                    let _ = promise.complete(Err(error), self.wakes);
                }
            }
            StoreErrorKind::Foreign => self.left(index, Err(self.lock_error(error))),
            StoreErrorKind::Busy
            | StoreErrorKind::NotGrantingYet
            | StoreErrorKind::Refused
            | StoreErrorKind::Forbidden
            | StoreErrorKind::Unsupported
            | StoreErrorKind::Protocol
            | StoreErrorKind::Unreplicated { .. } => {
                ticket.again = self.now.after(RETRY);
                let name = self.queue.name().clone();
                if let Some(others) = self.queue.member().failed_releases.pass(self.now) {
                    self.wakes.report(move || {
                        tracing::warn!(target: HOLD, %name, %error, others, "release failed, trying again");
                    });
                }
            }
        }
    }
}
