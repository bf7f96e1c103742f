//! Handles an answer of the store: finds the ticket or query that it belongs to.

mod attempt;
mod held;
mod release;
mod waiting;

use std::time::Duration;

use super::lock_queue::Transition;
use super::ticket::TicketState;
use crate::error::{LockError, StoreError, StoreErrorKind};
use crate::observe::operation;
use crate::store::{Answer, Mode, Op, Reply, Share};

/// The delay before a refused renewal or release is sent again.
pub(super) const RETRY: Duration = Duration::from_millis(200);

/// An answer to a ticket's request, reduced to the fields that matter here.
struct Asked {
    counter: u64,
    /// The lease that the request asked for.
    hold: Duration,
    result: Result<Reply, StoreError>,
}

impl Transition<'_> {
    pub(super) fn answer(&mut self, answer: Answer) {
        let Answer { request, result } = answer;
        let operation = operation(&request.op);
        let (ticket, counter, hold, acquires) = match request.op {
            Op::Acquire {
                ticket,
                counter,
                hold,
                mode,
                ..
            } => (ticket, counter, hold, Some(mode)),
            Op::Adopt {
                ticket,
                counter,
                hold,
                ..
            } => (ticket, counter, hold, Some(Mode::Try)),
            Op::Touch {
                ticket,
                counter,
                hold,
                ..
            } => (ticket, counter, hold, None),
            Op::Release { ticket, .. } => return self.answer_release(ticket, operation, result),
            Op::Force { .. }
            | Op::Kick { .. }
            | Op::Refresh { .. }
            | Op::Raise { .. }
            | Op::Signal { .. }
            | Op::Probe { .. }
            | Op::Delete
            | Op::Inspect => return self.answer_query(request.id, result),
        };
        let asked = Asked {
            counter,
            hold,
            result,
        };
        if let Some(index) = self.state.find(ticket) {
            if let Some(sent) = self.state.tickets[index].log.at(counter) {
                self.note_answer(operation, sent, &asked.result);
            }
            self.answer_ticket(index, acquires, asked);
        }
    }

    /// Handles the answer to a request of the ticket at `index`. `acquires`: the mode, if the request was an acquire.
    fn answer_ticket(&mut self, index: usize, acquires: Option<Mode>, asked: Asked) {
        let ticket = &mut self.state.tickets[index];
        let unanswered = matches!(&asked.result, Err(error) if error.is_disconnected());
        // After an acquire without an answer, a copy of it may still reach the store.
        ticket.log.late |= unanswered && acquires.is_some();
        let tries = acquires == Some(Mode::Try);
        match &ticket.state {
            TicketState::Attempting(_) if tries => self.answer_attempt(index, asked),
            TicketState::Waiting(_) if !tries => self.answer_waiting(index, asked),
            // Replies and messages may overtake each other: the answer to a request that was sent before the grant does
            // not concern the hold.
            TicketState::Held(held) if !tries && asked.counter > held.granted => {
                self.answer_held(index, asked);
            }
            // The ticket was withdrawn before this answer came, and its release is in flight; or the answer is old.
            _ => {}
        }
    }

    pub(super) fn lock_error(&self, error: StoreError) -> LockError {
        let endpoint = &self.queue.member().settings().endpoint;
        endpoint.lock_error(self.queue.name(), error)
    }

    pub(in crate::queue) fn unavailable(&self, source: StoreError) -> LockError {
        let endpoint = &self.queue.member().settings().endpoint;
        endpoint.unavailable(self.queue.name(), source)
    }

    /// The error if the name is in use with other settings. `found`: its capacity, and whether its tickets take tokens.
    fn mismatch(&self, share: &Share, found: (u32, bool)) -> LockError {
        let expected = (share.capacity, share.takes);
        LockError::mismatch(self.queue.name().to_string(), expected, found)
    }

    fn too_slow(&self) -> LockError {
        let message =
            "the store took longer to answer than the lock may be held: use a longer `expire`";
        self.unavailable(StoreError::new(StoreErrorKind::Busy, message))
    }
}

fn nonsense(reply: &Reply) -> StoreError {
    StoreError::new(
        StoreErrorKind::Protocol,
        format!("unexpected reply {reply:?}"),
    )
}
