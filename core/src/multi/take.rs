//! Takes several locks.
//!
//! A call tries all locks at once, in the order of their names. If a lock is busy, the call keeps the locks before the
//! busy lock, releases the locks after it, and waits in the queue of the busy lock. Then it tries the released locks
//! again. No call waits for a name while it holds a greater name, so there are no deadlocks. Each lock is granted first
//! come, first served.
//!
//! The [`Slot`]s have all requests and holds of a call; a dropped call releases them in the background. A call that fails
//! waits up to a second for the store to confirm the releases, so that its caller finds the released locks free.

use std::sync::Arc;
use std::time::Duration;

use super::MultiGuard;
use super::budget::Budget;
use super::names::in_order;
use crate::caller::Caller;
use crate::error::LockError;
use crate::handle::{AcquireTarget, Holding, Options, Reentry};
use crate::lease::Terms;
use crate::name::NameList;
use crate::observe::LockLabels;
use crate::queue::{self, Watch, warn_of_timeout};
use crate::queue::{Acquire, Hold, Patience, Unlocked};
use crate::store::Share;
use crate::task::TaskId;
use crate::wait::proceed;

/// How often a call may start over because it lost a lock while it waited for the other locks.
const MAX_RESTARTS: u32 = 5;

/// Takes the mutex of each name. `targets` may be in any order and contain duplicates.
pub(crate) async fn take(
    caller: Caller,
    targets: Vec<AcquireTarget<'_>>,
    options: &Options,
) -> Result<MultiGuard, LockError> {
    proceed().await;
    let call = Call::new(caller, targets, options)?;
    call.note_order();
    call.run().await
}

/// Like [`take`], but never waits for a busy lock.
pub(super) async fn try_take(
    caller: Caller,
    targets: Vec<AcquireTarget<'_>>,
    options: &Options,
) -> Result<MultiGuard, LockError> {
    proceed().await;
    let mut call = Call::new(caller, targets, options)?;
    call.budget = Budget::new(Patience::NONE);
    call.run().await
}

/// The state of one lock within a call.
#[derive(Default)]
enum Slot {
    #[default]
    Nothing,
    /// Requested, but not answered yet.
    Asked(Acquire),
    /// Already held by the calling task.
    Shared(Holding),
    Own(Holding),
}

impl Slot {
    /// Releases the lock, or withdraws the request for it, unless the task held the lock before the call.
    fn give_back(self) -> Option<Unlocked> {
        match self {
            Self::Own(holding) => holding.give_back(),
            Self::Asked(acquire) => acquire.give_back(),
            Self::Shared(_) | Self::Nothing => None,
        }
    }
}

struct Call<'a> {
    caller: Caller,
    /// In order of name, without duplicates.
    targets: Vec<AcquireTarget<'a>>,
    slots: Vec<Slot>,
    /// Releases that the store may not have confirmed yet.
    given_back: Vec<Unlocked>,
    terms: Terms,
    label: &'static str,
    watch: Option<Box<Watch>>,
    budget: Budget,
    /// The guard stays with the task: see [`Holding::taken_by`].
    stays: bool,
    /// The call waited for a lock, so `expire` restarts for all locks at the end.
    waits: bool,
}

impl<'a> Call<'a> {
    fn new(
        caller: Caller,
        targets: Vec<AcquireTarget<'a>>,
        options: &Options,
    ) -> Result<Self, LockError> {
        let targets = in_order(targets, |target| &target.name)?;
        let (terms, patience) = options.apply(targets[0].client.member().settings())?;
        let mut slots = Vec::with_capacity(targets.len());
        for target in &targets {
            let held = target.held_already(&caller, options, &Share::MUTEX)?;
            held.as_ref().map_or(Ok(()), Holding::check)?;
            slots.push(held.map_or(Slot::Nothing, Slot::Shared));
        }
        let first = &targets[0];
        let names = NameList(targets.iter().map(|target| &*target.name));
        let meta = first.meta();
        let watch = Watch::begin(first.client.member().observer(), || queue::Call {
            labels: LockLabels::of(options.label(), &Share::MUTEX),
            name: &names,
            meta: &meta,
            may_wait: patience.waits(),
        });
        Ok(Self {
            caller,
            targets,
            slots,
            given_back: Vec::new(),
            terms,
            label: options.label(),
            watch,
            budget: Budget::new(patience),
            stays: options.reentry == Reentry::Enters,
            waits: false,
        })
    }

    /// Notes that the task asks for the missing locks while it holds other locks. The locks of the call are taken
    /// together, so there is no order among them.
    fn note_order(&self) {
        if !self.budget.may_queue() {
            return;
        }
        let first = &self.targets[0];
        let slots = self.slots.iter().zip(&self.targets);
        let missing = slots.filter(|(slot, _)| matches!(slot, Slot::Nothing));
        let names = missing.map(|(_, target)| &*target.name);
        if names.clone().next().is_some() {
            first.note_order(&self.caller, self.label, names);
        }
    }

    async fn run(mut self) -> Result<MultiGuard, LockError> {
        match self.obtain().await {
            Ok(()) => Ok(self.finish()),
            Err(error) => {
                if let Some(mut watch) = self.watch.take() {
                    watch.failed(&error);
                }
                if error.is_timeout() && self.budget.may_wait() {
                    let first = &self.targets[0];
                    warn_of_timeout(first.client.member(), &first.meta(), &error);
                }
                self.give_back().await;
                Err(error)
            }
        }
    }

    async fn obtain(&mut self) -> Result<(), LockError> {
        let mut restarts = 0;
        loop {
            while let Some((index, busy)) = self.try_rest().await? {
                let Some(patience) = self.budget.left() else {
                    return Err(self.budget.give_up(busy));
                };
                self.give_back_behind(index);
                self.wait_for(index, patience).await?;
                self.confirm().await;
            }
            match self.lost() {
                None => return Ok(()),
                Some(error) if restarts == MAX_RESTARTS => return Err(error),
                Some(_) => restarts += 1,
            }
            self.start_over()?;
        }
    }

    /// Tries all missing locks at once. Returns the index and the error of the first busy lock, if there is one.
    async fn try_rest(&mut self) -> Result<Option<(usize, LockError)>, LockError> {
        let mut any = false;
        let silence = self.budget.silence();
        for index in 0..self.slots.len() {
            if matches!(self.slots[index], Slot::Nothing) {
                any = true;
                self.slots[index] = Slot::Asked(self.enter(index, Patience::Once { silence })?);
            }
        }
        self.budget.tried(any);
        for (index, slot) in self.slots.iter_mut().enumerate() {
            let Slot::Asked(acquire) = slot else {
                continue;
            };
            let answer = acquire.await;
            *slot = Slot::Nothing;
            match answer {
                Ok(hold) => *slot = Slot::Own(Holding::unused(hold)),
                Err(error) if error.may_be_waited_for() => return Ok(Some((index, error))),
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Releases the locks that the call has requested after `index`. It must not keep them while it waits for the lock
    /// at `index`.
    fn give_back_behind(&mut self, index: usize) {
        for slot in &mut self.slots[index..] {
            if matches!(slot, Slot::Asked(_)) {
                self.given_back.extend(std::mem::take(slot).give_back());
            }
        }
    }

    /// Waits until the store has confirmed the releases.
    async fn confirm(&mut self) {
        for release in std::mem::take(&mut self.given_back) {
            // The call does the same after an error: the release is resent in the background.
            let _ = release.wait().await;
        }
    }

    /// Releases all locks, and waits for the store to confirm, but no longer than a call with `block = 0` waits for its
    /// answer. After that time, the releases are resent in the background.
    async fn give_back(&mut self) {
        let slots = self.slots.drain(..);
        self.given_back.extend(slots.filter_map(Slot::give_back));
        self.confirm().await;
    }

    /// Waits in the queue of the lock at `index`, while the call holds the locks before it.
    async fn wait_for(&mut self, index: usize, patience: Patience) -> Result<(), LockError> {
        self.waits = true;
        if let Some(watch) = &mut self.watch {
            watch.waits();
        }
        for slot in &self.slots {
            if let Slot::Own(holding) = slot {
                holding.restart(Terms::default());
            }
        }
        let acquire = self.enter(index, patience)?;
        let hold = acquire.await.map_err(|error| self.budget.of_call(error))?;
        self.budget.waited_for(hold.grant().attempts);
        self.slots[index] = Slot::Own(Holding::unused(hold));
        Ok(())
    }

    fn enter(&self, index: usize, patience: Patience) -> Result<Acquire, LockError> {
        let terms = Terms {
            at_least: Duration::ZERO,
            ..self.terms
        };
        // The locks that the call itself keeps while it waits for this lock. An attempt does not wait.
        let own = self.slots[..index].iter();
        let held: Vec<Arc<Hold>> = match patience.waits() {
            true => own
                .filter_map(|slot| match slot {
                    Slot::Own(holding) => Some(holding.first().clone()),
                    _ => None,
                })
                .collect(),
            false => Vec::new(),
        };
        let terms = (terms, self.label);
        self.targets[index].enter(&self.caller, Share::MUTEX, terms, patience, &held)
    }

    /// The error of the first obtained lock that is lost, if there is one.
    fn lost(&self) -> Option<LockError> {
        self.slots.iter().find_map(|slot| match slot {
            Slot::Shared(holding) | Slot::Own(holding) => holding.check().err(),
            Slot::Asked(_) | Slot::Nothing => None,
        })
    }

    /// Releases the remaining locks after a loss: the call must not keep them while it waits for a smaller name.
    fn start_over(&mut self) -> Result<(), LockError> {
        for slot in &mut self.slots {
            match slot {
                // The task had this hold before the call. If the hold is lost, the call fails.
                Slot::Shared(holding) => holding.check()?,
                slot => self.given_back.extend(std::mem::take(slot).give_back()),
            }
        }
        Ok(())
    }

    fn finish(mut self) -> MultiGuard {
        let watch = self.watch.take();
        let waited = self.budget.waited();
        let mut parts = Vec::with_capacity(self.slots.len());
        let mut nested = false;
        for slot in self.slots {
            match slot {
                Slot::Own(holding) if !self.waits => {
                    holding.keep(self.terms.at_least);
                    parts.push(holding);
                }
                Slot::Own(holding) => {
                    holding.restart(self.terms);
                    parts.push(holding);
                }
                Slot::Shared(holding) => {
                    nested = true;
                    holding.keep(self.terms.at_least);
                    parts.push(holding);
                }
                Slot::Asked(_) | Slot::Nothing => {}
            }
        }
        let mut holding = Holding::join(parts);
        if nested {
            holding.nest(self.terms.expire);
        }
        let holds = holding.holds();
        if let Some(mut watch) = watch {
            watch.granted(holds.all());
        }
        for (target, hold) in self.targets.iter().zip(holds.all()) {
            target.obtained(hold, holds);
        }
        // An attribute's call has no handle, and its guard belongs to a body.
        if self.targets[0].last.is_some() {
            holding.taken_by(TaskId::current(self.caller.is_blocking()), self.stays);
        }
        let handles = self
            .targets
            .iter()
            .filter_map(|target| target.last.cloned());
        MultiGuard::new(holding, handles.collect(), waited, self.budget.attempts())
    }
}
