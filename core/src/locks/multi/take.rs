//! Takes several locks. A call tries all of them, in the order of their names. If one is busy, the call keeps the locks
//! before it, releases those after it, waits in its queue, and then tries the released locks again. No call waits for a
//! name while it holds a greater one, so there are no deadlocks.

use std::sync::Arc;
use std::time::Duration;

use super::{MultiGuard, in_order};
use crate::base::clock::{self, Instant};
use crate::base::error::LockError;
use crate::base::name::NameList;
use crate::base::task::TaskId;
use crate::base::wait::proceed;
use crate::caller::Caller;
use crate::lease::Terms;
use crate::locks::handle::{AcquireTarget, Holding, Options, Reentry, log_obtained};
use crate::observe::LockLabels;
use crate::queue::{Acquire, Confirmed, Hold, Patience};
use crate::queue::{Watch, warn_of_timeout};
use crate::store::Share;

/// How often a call starts over because it lost a lock while it waited for another.
const MAX_RESTARTS: u32 = 5;

/// Takes the mutex of each name. `targets` may be in any order, with duplicates. `patience`, if given, overrides the
/// options.
pub(crate) async fn take(
    caller: Caller,
    targets: Vec<AcquireTarget<'_>>,
    options: &Options,
    patience: Option<Patience>,
) -> Result<MultiGuard, LockError> {
    proceed().await;
    let mut call = Call::new(caller, targets, options, patience)?;
    call.note_order();
    match call.obtain().await {
        Ok(()) => Ok(call.finish()),
        Err(error) => {
            call.fail(&error).await;
            Err(error)
        }
    }
}

/// One lock of a call. Dropping a call releases its slots in the background.
#[derive(Default)]
enum Slot {
    #[default]
    Nothing,
    Shared(Holding),
    Own(Holding),
}

impl Slot {
    fn give_back(self) -> Option<Confirmed> {
        match self {
            Self::Own(holding) => holding.give_back(),
            Self::Shared(_) | Self::Nothing => None,
        }
    }
}

struct Call<'a> {
    caller: Caller,
    /// Sorted by name, without duplicates.
    targets: Vec<AcquireTarget<'a>>,
    slots: Vec<Slot>,
    /// Releases that the store may not have confirmed yet.
    given_back: Vec<Confirmed>,
    options: &'a Options,
    terms: Terms,
    watch: Option<Box<Watch>>,
    patience: Patience,
    started: Instant,
    attempts: u32,
    /// The attempts made while the call waited for a lock.
    retried: u32,
    /// Whether the call has waited for a lock. Then `expire` restarts for all locks at the end.
    waits: bool,
}

impl<'a> Call<'a> {
    fn new(
        caller: Caller,
        targets: Vec<AcquireTarget<'a>>,
        options: &'a Options,
        patience: Option<Patience>,
    ) -> Result<Self, LockError> {
        let targets = in_order(targets, |target| &target.name)?;
        let (terms, own) = options.apply(targets[0].client.core().settings())?;
        let mut slots = Vec::with_capacity(targets.len());
        for target in &targets {
            let held = target.held_already(&caller, options, &Share::MUTEX)?;
            held.as_ref().map_or(Ok(()), Holding::check)?;
            slots.push(held.map_or(Slot::Nothing, Slot::Shared));
        }
        let names = NameList(targets.iter().map(|target| &*target.name));
        let labels = LockLabels::of(options.label(), &Share::MUTEX);
        let (core, meta) = (targets[0].client.core(), &targets[0].meta);
        let patience = patience.unwrap_or(own);
        let watch = Watch::begin(core, labels, &names, meta, patience.waits());
        Ok(Self {
            caller,
            targets,
            slots,
            given_back: Vec::new(),
            options,
            terms,
            watch,
            patience,
            started: clock::now(),
            attempts: 0,
            retried: 0,
            waits: false,
        })
    }

    fn waited(&self) -> Duration {
        self.started.until(clock::now())
    }

    /// The patience left for the next wait; `None` if the call may not wait any more.
    fn patience_left(&self) -> Option<Patience> {
        let left = |block: Option<Duration>| {
            let left = block.map(|block| block.saturating_sub(self.waited()));
            (left != Some(Duration::ZERO)).then_some(left)
        };
        match self.patience {
            Patience::Queue(block) => left(block).map(Patience::Queue),
            Patience::Once { .. } => None,
            Patience::Poll {
                retries,
                interval,
                block,
            } => Some(Patience::Poll {
                retries: retries.checked_sub(self.retried)?.checked_sub(1)?,
                interval,
                block: left(block)?,
            }),
        }
    }

    /// Converts the error of a wait for one lock into that of the whole call.
    fn of_call(&self, mut error: LockError) -> LockError {
        let used_up =
            matches!(self.patience, Patience::Poll { retries, .. } if self.retried >= retries);
        match &mut error {
            LockError::Timeout { name, holder, .. } if used_up => {
                return LockError::TooManyAttempts {
                    name: std::mem::take(name),
                    attempts: self.attempts,
                    holder: holder.take(),
                };
            }
            LockError::Timeout { waited, .. } => *waited = self.waited(),
            LockError::TooManyAttempts { attempts, .. } => {
                *attempts = self.attempts.saturating_add(*attempts);
            }
            _ => {}
        }
        error
    }

    /// Records that the missing locks follow those that the task holds. The locks of one call have no order.
    fn note_order(&self) {
        if !self.patience.queues() {
            return;
        }
        let first = &self.targets[0];
        let slots = self.slots.iter().zip(&self.targets);
        let missing = slots.filter(|(slot, _)| matches!(slot, Slot::Nothing));
        let names = missing.map(|(_, target)| &*target.name);
        first.note_order(&self.caller, self.options.label(), names);
    }

    /// Reports the error, and releases all locks. Waits for the store to confirm, so that the caller finds them free,
    /// but no longer than a call with `block = 0` waits for its answer.
    async fn fail(mut self, error: &LockError) {
        if let Some(mut watch) = self.watch.take() {
            watch.failed(error);
        }
        if error.is_timeout() && self.patience.waits() {
            let first = &self.targets[0];
            warn_of_timeout(first.client.core(), &first.meta, error);
        }
        let slots = self.slots.drain(..);
        self.given_back.extend(slots.filter_map(Slot::give_back));
        self.confirm().await;
    }

    async fn obtain(&mut self) -> Result<(), LockError> {
        let mut restarts = 0;
        loop {
            while let Some((index, busy)) = self.try_rest().await? {
                let Some(patience) = self.patience_left() else {
                    return Err(self.of_call(busy));
                };
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

    /// If a lock is busy, releases those requested after it, because the call must not keep them while it waits.
    async fn try_rest(&mut self) -> Result<Option<(usize, LockError)>, LockError> {
        // The limit for an unresponsive store; `None` for `store_timeout`.
        let silence = self.patience.silence();
        let silence = silence.map(|time| time.saturating_sub(self.waited()));
        let missing = |index: &usize| matches!(self.slots[*index], Slot::Nothing);
        let ask = |index| Ok((index, self.enter(index, Patience::Once { silence })?));
        let asked = (0..self.slots.len()).filter(missing).map(ask);
        let mut asked = asked.collect::<Result<Vec<_>, LockError>>()?.into_iter();
        self.attempts = self.attempts.saturating_add((asked.len() > 0).into());
        while let Some((index, acquire)) = asked.next() {
            match acquire.await {
                Ok(hold) => self.slots[index] = Slot::Own(Holding::unused(hold)),
                Err(error) => {
                    let rest = asked.filter_map(|(_, acquire)| acquire.give_back());
                    self.given_back.extend(rest);
                    return match error.may_be_waited_for() {
                        true => Ok(Some((index, error))),
                        false => Err(error),
                    };
                }
            }
        }
        Ok(None)
    }

    async fn confirm(&mut self) {
        for release in std::mem::take(&mut self.given_back) {
            // After an error, the release is resent in the background.
            let _ = release.wait().await;
        }
    }

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
        let hold = acquire.await.map_err(|error| self.of_call(error))?;
        let attempts = hold.grant.attempts;
        self.attempts = self.attempts.saturating_add(attempts);
        self.retried = self.retried.saturating_add(attempts);
        self.slots[index] = Slot::Own(Holding::unused(hold));
        Ok(())
    }

    fn enter(&self, index: usize, patience: Patience) -> Result<Acquire, LockError> {
        let terms = Terms {
            at_least: Duration::ZERO,
            retain: Duration::ZERO,
            ..self.terms
        };
        // What the call keeps while it waits for this lock.
        let kept = if patience.waits() { index } else { 0 };
        let own = self.slots[..kept].iter().filter_map(|slot| match slot {
            Slot::Own(holding) => Some(holding.first().clone()),
            _ => None,
        });
        let held: Vec<Arc<Hold>> = own.collect();
        let (target, share) = (&self.targets[index], Share::MUTEX);
        let mut want = target.want(&self.caller, share, terms, self.options.label(), patience)?;
        target.join(&self.caller, &mut want, &held)
    }

    fn lost(&self) -> Option<LockError> {
        self.slots.iter().find_map(|slot| match slot {
            Slot::Shared(holding) | Slot::Own(holding) => holding.check().err(),
            Slot::Nothing => None,
        })
    }

    /// After a loss, releases the locks, because the call must not keep them while it waits for a smaller name.
    fn start_over(&mut self) -> Result<(), LockError> {
        for slot in &mut self.slots {
            match slot {
                Slot::Shared(holding) => holding.check()?,
                slot => self.given_back.extend(std::mem::take(slot).give_back()),
            }
        }
        Ok(())
    }

    fn finish(mut self) -> MultiGuard {
        let watch = self.watch.take();
        let waited = self.waited();
        let mut parts = Vec::with_capacity(self.slots.len());
        let mut nested = false;
        for slot in self.slots {
            let is_own = matches!(slot, Slot::Own(_));
            if let Slot::Own(holding) | Slot::Shared(holding) = slot {
                match is_own && self.waits {
                    true => holding.restart(self.terms),
                    false => holding.park_for(self.terms.at_least),
                }
                nested |= !is_own;
                parts.push(holding);
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
            log_obtained(hold);
            if let Some(last) = target.last {
                last.remember(hold, holds);
            }
        }
        // Without a handle, the guard belongs to an attribute's body.
        if self.targets[0].last.is_some() {
            let stays = self.options.reentry == Reentry::Enters;
            holding.taken_by(TaskId::current(self.caller.blocking), stays);
        }
        let handles = self.targets.iter();
        MultiGuard {
            holding,
            handles: handles.filter_map(|target| target.last.cloned()).collect(),
            waited,
            attempts: self.attempts,
        }
    }
}
