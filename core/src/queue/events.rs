//! What the client calls on the queue of a name.

use std::collections::HashSet;
use std::sync::{Arc, Weak};

use auto_mutex_protocol::client::Input;

use super::client::Unfinished;
use super::lock_queue::{Answered, LockQueue, Transition};
use crate::base::clock::{self, Instant};
use crate::base::error::{LockError, LossCause};
use crate::base::task::TaskId;
use crate::store::Op;

impl LockQueue {
    /// Runs the timers at the time `armed`. Returns `false` if the queue is idle and may be retired.
    pub(super) fn due(self: &Arc<Self>, armed: Instant) -> bool {
        self.step(|step| {
            if step.slot.armed.is_none_or(|current| current != armed) {
                return true;
            }
            step.slot.armed = None;
            step.due(armed);
            !step.slot.state.is_forgettable(step.now, step.env.limits)
        })
        .unwrap_or(true)
    }

    /// Retires the queue if it is idle. Returns whether the queue is retired.
    pub(super) fn retire(&self) -> bool {
        let mut slot = self.lock();
        slot.retired |= slot.state.is_idle();
        let spares = slot.retired.then(|| slot.forget_spares());
        let retired = slot.retired;
        drop(slot);
        drop(spares);
        retired
    }

    pub(super) fn held(&self) -> Vec<Unfinished> {
        let (slot, now) = (self.lock(), clock::now());
        let named = slot.holds.iter().map(|hold| {
            let (meta, since) = (&hold.want().meta, hold.since);
            Unfinished::new(&self.name, meta, since.until(now), hold.taken())
        });
        named.collect()
    }

    /// Fails all waiters except those of running bodies. `holders` are the tasks that hold locks taken by hand.
    pub(super) fn drain(self: &Arc<Self>, holders: &HashSet<TaskId>) {
        let has_taken = |task| holders.contains(&task);
        self.step(|step| {
            step.fail(&LockError::ShutDown, |by| !by.is_nested(has_taken));
            step.on(Input::ReleaseKept);
        });
    }

    /// Fails the waiters and releases the holds.
    pub(super) fn close(self: &Arc<Self>) {
        let error = self.closing();
        let cause = match error {
            LockError::ShutDown => LossCause::ShutDown,
            _ => LossCause::NotRenewed,
        };
        self.step(|step| {
            step.fail(&error, |_| true);
            step.on(Input::Close(cause));
        });
    }

    /// Why the client makes no more requests.
    fn closing(&self) -> LockError {
        let checked = self.core.check(&self.name);
        checked.err().unwrap_or(LockError::ShutDown)
    }

    /// Fails everything that waits for an answer, because the background thread has ended.
    pub(super) fn abandon(self: &Arc<Self>) {
        self.close();
        let error = self.closing();
        let spares = self.step(|step| {
            step.fail_asks(&error);
            step.slot.state = Default::default();
            step.slot.retired = true;
            step.slot.forget_spares()
        });
        drop(spares);
    }

    /// Runs the timers now.
    #[cfg(any(test, feature = "test-util"))]
    pub(super) fn look(self: &Arc<Self>) {
        self.step(|step| step.due(step.now));
    }

    /// Returns `None` if the name was retired.
    pub(crate) fn query(self: &Arc<Self>, op: &Op) -> Option<Answered> {
        self.step(|step| step.ask(op.clone()))
    }
}

impl Transition<'_> {
    fn due(&mut self, armed: Instant) {
        self.on(Input::Due { armed });
        self.end_bounds();
        self.warn_of_blocked_workers();
        self.warn_of_slow();
    }

    /// Wakes the listeners of bounds that are over.
    fn end_bounds(&mut self) {
        let (now, mut ended) = (self.now, Vec::new());
        self.slot.bounds.retain(|(call, bound)| {
            let goes_on = Weak::upgrade(bound).is_some_and(|bound| !bound.is_over(now));
            ended.extend((!goes_on).then_some(*call));
            goes_on
        });
        for call in ended {
            if let Some(hold) = self.slot.hold(call) {
                hold.listeners.wake(self.wakes);
            }
        }
    }

    /// When to look at bounds, and whether to warn.
    pub(super) fn next_look(&self) -> Instant {
        let bounds = self.slot.bounds.iter();
        let bounds = bounds.filter_map(|(_, bound)| Some(bound.upgrade()?.expires()));
        let warnings = [self.slot.look_at_workers, self.first_slow_waiter()];
        let slow = self
            .slot
            .holds
            .iter()
            .filter_map(|hold| self.slow_holder(hold));
        let looks = bounds.chain(warnings.into_iter().flatten()).chain(slow);
        looks.min().unwrap_or(Instant::NEVER)
    }
}
