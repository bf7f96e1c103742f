//! Calls enter the queue of a name and leave it.

use std::sync::Arc;

use auto_mutex_protocol::client::{Caller, Input};

use super::acquire::{Acquire, Stage};
use super::hold::Hold;
use super::lock_queue::{Confirmed, LockQueue, Transition};
use super::waiter::{Requester, Waiter, Want};
use crate::base::clock::Instant;
use crate::base::error::LockError;
use crate::base::task::runs_a_task;
use crate::base::wait::Promise;
use crate::store::Ticket;

impl LockQueue {
    /// Returns `None` if the name was retired.
    pub(crate) fn enter(
        self: &Arc<Self>,
        want: &Want,
        by: &Requester,
    ) -> Option<Result<Acquire, LockError>> {
        let entered = self.step(|step| {
            // Checked again under the mutex. A shutdown makes this check fail before it locks the mutex, so it either
            // stops this call here or finds its waiter.
            self.core.check(&self.name)?;
            if let Some(owner) = &want.owner
                && let Some(hold) = step.held_by(owner).find(|hold| hold.add_guard())
            {
                return Ok(Acquire::new(Stage::Obtained(hold.clone())));
            }
            if self.core.is_draining() && !by.inside {
                return Err(LockError::ShutDown);
            }
            if step.would_block_itself(want, by) {
                return Err(LockError::waits_for_itself(self.name.as_str()));
            }
            let waiter = step.slot.call(want.clone(), by.clone(), step.now);
            if let Some(witness) = self.core.witness() {
                witness.waits(&self.name);
            }
            if want.patience.queues() {
                step.note_blocked(&waiter);
            }
            step.on(Input::Enter(waiter.clone()));
            Ok(Acquire::new(Stage::Waiting(self.clone(), waiter, None)))
        })?;
        Some(entered.map(Acquire::look))
    }

    pub(crate) fn held_by(self: &Arc<Self>, owner: &str) -> Option<Arc<Hold>> {
        self.step(|step| step.held_by(owner).next().cloned())?
    }

    pub(crate) fn adopt(
        self: &Arc<Self>,
        old: Ticket,
        want: &Want,
        by: &Requester,
    ) -> Option<Acquire> {
        self.step(|step| {
            // A missed hold is gone, and cannot be adopted again.
            let want = Want {
                misses: 0,
                ..want.clone()
            };
            let waiter = step.slot.call(want, by.clone(), step.now);
            let caller = waiter.clone();
            step.on(Input::Adopt { caller, old });
            Acquire::new(Stage::Waiting(self.clone(), waiter, None))
        })
    }

    /// Returns a promise of the store's answer if the call is to be `confirmed`.
    pub(super) fn give_up(
        self: &Arc<Self>,
        waiter: &Arc<Waiter>,
        confirmed: bool,
    ) -> Option<Confirmed> {
        let left = self.step(|step| {
            let granted = waiter.promise.close(step.wakes);
            if granted.is_some() {
                return (granted, None);
            }
            let promise = confirmed.then(|| Arc::new(Promise::default()));
            let ask = promise.as_ref().map(|promise| step.expect(promise));
            let call = waiter.call.id;
            step.on(Input::Leave { call, ask });
            (None, promise)
        });
        let Some((granted, withdrawn)) = left else {
            // A hold stored in the promise of its own waiter would keep both alive. In a forked child they stay.
            if !self.core.is_forked() {
                drop(waiter.promise.take_if(|_| true));
            }
            return None;
        };
        match granted.and_then(Result::ok) {
            Some(hold) => hold.give_back(confirmed),
            None => withdrawn,
        }
    }
}

impl Transition<'_> {
    /// Whether the caller would block the only thread that can release the lock.
    fn would_block_itself(&self, want: &Want, by: &Requester) -> bool {
        let share = &want.share;
        let waits = want.patience.waits() && !self.queue.core.settings().skips();
        if !by.blocking || !waits || by.home.is_none() || share.capacity == 0 {
            return false;
        }
        let mine = |home| home == by.home;
        let holds = self.slot.holds.iter();
        let held = holds.filter(|hold| mine(hold.by().home));
        let held: u64 = held.map(|hold| u64::from(hold.weight())).sum();
        let waiters = self.slot.state.waiters();
        let waiting = waiters.clone().filter(|waiter| mine(waiter.by.home));
        let waiting = waiting.map(|waiter| u64::from(waiter.call.want.share.units));
        let fits = |taken: u64, units| taken + u64::from(units) <= u64::from(share.capacity);
        // The waiter has no deadline and may need units that this thread holds, so the caller behind it would never be
        // served.
        let mut before = waiters.filter(|waiter| waiter.call.deadline() == Instant::NEVER);
        let stuck = held > 0 && before.any(|waiter| !fits(held, waiter.call.want.share.units));
        let taken = held + waiting.sum::<u64>();
        (stuck || taken > 0 && !fits(taken, share.units)) && runs_a_task()
    }

    fn held_by<'a>(&'a self, owner: &'a str) -> impl Iterator<Item = &'a Arc<Hold>> {
        let holds = self.slot.state.held_by(owner, self.now);
        holds.filter_map(|hold| self.slot.hold(hold.caller.id()))
    }

    /// Fails the calls that wait.
    pub(super) fn fail(&mut self, error: &LockError, which: impl Fn(&Requester) -> bool) {
        let state = &self.slot.state;
        let waiting = state.waiters().chain(state.attempts());
        let chosen = waiting.filter(|caller| which(&caller.by));
        let chosen: Vec<Arc<Waiter>> = chosen.cloned().collect();
        if chosen.is_empty() {
            return;
        }
        let mut calls: Vec<_> = chosen.iter().map(Caller::id).collect();
        calls.sort_unstable();
        self.on(Input::Dismiss { calls });
        for caller in chosen {
            caller.fail(error.clone(), self.wakes);
        }
    }
}
