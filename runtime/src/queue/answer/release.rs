//! The answer to a release.

use std::time::Duration;

use super::RETRY;
use crate::error::{LockError, StoreError, StoreErrorKind};
use crate::queue::lock_queue::Transition;
use crate::queue::ticket::TicketState;
use crate::store::{Reply, Ticket as TicketId};

/// How soon a release is sent again that met foreign data.
const FOREIGN: Duration = Duration::from_secs(1);

impl Transition<'_> {
    pub(super) fn answer_release(&mut self, id: TicketId, result: Result<Reply, StoreError>) {
        let Some(index) = self.state.find(id) else {
            return;
        };
        let TicketState::Leaving(leaving) = &self.state.tickets[index].state else {
            return;
        };
        let (held, unanswered) = (leaving.held, leaving.unanswered);
        match result {
            Ok(Reply::Released { free }) => self.left(index, Ok(held.then_some(free))),
            // Gone may be the work of the copy before: then the local clock knows.
            Ok(Reply::Gone) if unanswered => self.left(index, Ok(held.then_some(0))),
            Ok(_) => self.left(index, Ok(None)),
            Err(error) => self.release_failed(index, error),
        }
    }

    /// The ticket at `index` is out of the store: who waits for that is told.
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
            // Whoever waits is told. But the hold may still be there beside what is foreign, and nothing but its end
            // would end it then: it is tried again until that.
            StoreErrorKind::Foreign if self.now < leaving.over && self.queue.member().is_open() => {
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
                if let Some(others) = self.queue.member().failed_releases.again(self.now) {
                    self.wakes.report(
                        move || tracing::warn!(%name, %error, others, "release failed, trying again"),
                    );
                }
            }
        }
    }
}
