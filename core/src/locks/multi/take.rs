//! Takes several locks, by the rules of [`Together`].

use std::sync::Arc;
use std::time::Duration;

use auto_mutex_protocol::client::{Together, TogetherEffect, TogetherInput};

use super::{MultiGuard, in_order};
use crate::base::clock;
use crate::base::error::LockError;
use crate::base::name::NameList;
use crate::base::task::TaskId;
use crate::base::wait::proceed;
use crate::caller::Caller;
use crate::lease::Tenure;
use crate::locks::handle::{AcquireTarget, Holding, Options, Reentry, log_obtained};
use crate::observe::LockLabels;
use crate::queue::{Acquire, Confirmed, Hold, Patience};
use crate::queue::{Watch, warn_of_timeout};
use crate::store::Share;

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
    call.obtain().await?;
    Ok(call.finish())
}

/// One lock of a call. Dropping a call releases its slots in the background.
#[derive(Default)]
enum Slot {
    #[default]
    Nothing,
    Asked(Result<Acquire, LockError>),
    Shared(Holding),
    Own(Holding),
}

impl Slot {
    fn give_back(self) -> Option<Confirmed> {
        match self {
            Self::Asked(acquire) => acquire.ok()?.give_back(),
            Self::Own(holding) => holding.give_back(),
            Self::Shared(_) | Self::Nothing => None,
        }
    }

    fn held(&self) -> Option<&Holding> {
        match self {
            Self::Shared(holding) | Self::Own(holding) => Some(holding),
            Self::Asked(_) | Self::Nothing => None,
        }
    }
}

struct Call<'a> {
    caller: Caller,
    /// Sorted by name, without duplicates.
    targets: Vec<AcquireTarget<'a>>,
    slots: Vec<Slot>,
    rules: Together,
    /// Releases that the store may not have confirmed yet.
    given_back: Vec<Confirmed>,
    options: &'a Options,
    tenure: Tenure,
    watch: Option<Box<Watch>>,
}

impl<'a> Call<'a> {
    fn new(
        caller: Caller,
        targets: Vec<AcquireTarget<'a>>,
        options: &'a Options,
        patience: Option<Patience>,
    ) -> Result<Self, LockError> {
        let targets = in_order(targets, |target| &target.name)?;
        let (tenure, own) = options.apply(targets[0].client.core().settings())?;
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
        let (now, shared) = (clock::now(), slots.iter().map(|slot| slot.held().is_some()));
        Ok(Self {
            caller,
            targets,
            rules: Together::new(shared, patience, now),
            slots,
            given_back: Vec::new(),
            options,
            tenure,
            watch,
        })
    }

    fn waited(&self) -> Duration {
        self.rules.took(clock::now())
    }

    /// Converts the error of a wait for one lock into that of the whole call.
    fn of_call(&self, mut error: LockError) -> LockError {
        let made = self.rules.attempts();
        match &mut error {
            LockError::Timeout { name, holder, .. } if self.rules.has_used_up() => {
                return LockError::given_up(std::mem::take(name), made, holder.take());
            }
            LockError::Timeout { waited, .. } => *waited = self.waited(),
            LockError::TooManyAttempts { attempts, .. } => {
                *attempts = made.saturating_add(*attempts);
            }
            _ => {}
        }
        error
    }

    /// Records that the missing locks follow those that the task holds. The locks of one call have no order.
    fn note_order(&self) {
        if !self.rules.patience().queues() {
            return;
        }
        let first = &self.targets[0];
        let slots = self.slots.iter().zip(&self.targets);
        let missing = slots.filter(|(slot, _)| matches!(slot, Slot::Nothing));
        let names = missing.map(|(_, target)| &*target.name);
        first.note_order(&self.caller, self.options.label(), names);
    }

    /// Does what the rules ask for, until the call has all locks. Before an error, it waits for the store to confirm
    /// what was given back, so that the caller finds the locks free, but no longer than a call with `block = 0` waits
    /// for its answer.
    async fn obtain(&mut self) -> Result<(), LockError> {
        let (mut input, mut cause) = (TogetherInput::Begin, None);
        let mut effects = Vec::new();
        loop {
            self.rules.on(input, clock::now(), &mut effects);
            let (mut looked, mut failed) = (None, None);
            for effect in effects.drain(..) {
                match effect {
                    TogetherEffect::Enter(index, patience) => {
                        if let Some(watch) = self.watch.as_mut().filter(|_| patience.waits()) {
                            watch.waits();
                        }
                        self.slots[index] = Slot::Asked(self.enter(index, patience));
                    }
                    TogetherEffect::GiveBack(index) => {
                        let slot = std::mem::take(&mut self.slots[index]);
                        self.given_back.extend(slot.give_back());
                    }
                    TogetherEffect::Confirm => self.confirm().await,
                    TogetherEffect::Hold(index) => {
                        if let Some(holding) = self.slots[index].held() {
                            holding.restart(Tenure::default());
                        }
                    }
                    TogetherEffect::Look => looked = Some(self.look()),
                    TogetherEffect::Done => return Ok(()),
                    TogetherEffect::Failed => {
                        failed = cause.take();
                        failed.iter().for_each(|error| self.report(error));
                    }
                }
            }
            if let Some(error) = failed {
                return Err(error);
            }
            (input, cause) = match looked {
                Some(looked) => looked,
                None => self.answer().await,
            };
        }
    }

    /// The answer about the first lock that was asked for.
    async fn answer(&mut self) -> (TogetherInput, Option<LockError>) {
        let mut slots = self.slots.iter_mut().enumerate();
        let asked = slots.find_map(|(index, slot)| match std::mem::take(slot) {
            Slot::Asked(acquire) => Some((index, acquire)),
            other => {
                *slot = other;
                None
            }
        });
        let Some((index, acquire)) = asked else {
            return self.look();
        };
        let result = match acquire {
            Ok(acquire) => acquire.await,
            Err(error) => Err(error),
        };
        match result {
            Ok(hold) => {
                let attempts = hold.grant.attempts;
                self.slots[index] = Slot::Own(Holding::unused(hold));
                (TogetherInput::Obtained(index, attempts), None)
            }
            Err(error) => {
                let input = match error.may_be_waited_for() {
                    true => TogetherInput::Busy(index),
                    false => TogetherInput::Refused(index),
                };
                (input, Some(self.of_call(error)))
            }
        }
    }

    /// Whether all locks are still held.
    fn look(&self) -> (TogetherInput, Option<LockError>) {
        let slots = self.slots.iter().enumerate();
        let lost = slots.filter_map(|(index, slot)| Some((index, slot.held()?.check().err()?)));
        let is_own = |(index, _): &(usize, _)| matches!(self.slots[*index], Slot::Own(_));
        let (lost, error) = lost.min_by_key(is_own).unzip();
        (TogetherInput::Looked { lost }, error)
    }

    async fn confirm(&mut self) {
        for release in std::mem::take(&mut self.given_back) {
            // After an error, the release is resent in the background.
            let _ = release.wait().await;
        }
    }

    fn report(&mut self, error: &LockError) {
        if let Some(mut watch) = self.watch.take() {
            watch.failed(error);
        }
        if error.is_timeout() && self.rules.patience().waits() {
            let first = &self.targets[0];
            warn_of_timeout(first.client.core(), &first.meta, error);
        }
    }

    fn enter(&self, index: usize, patience: Patience) -> Result<Acquire, LockError> {
        let tenure = Tenure {
            at_least: None,
            retain: None,
            ..self.tenure
        };
        // What the call keeps while it waits for this lock.
        let kept = if patience.waits() { index } else { 0 };
        let own = self.slots[..kept].iter().filter_map(|slot| match slot {
            Slot::Own(holding) => Some(holding.first().clone()),
            _ => None,
        });
        let held: Vec<Arc<Hold>> = own.collect();
        let (target, share) = (&self.targets[index], Share::MUTEX);
        let mut want = target.want(share, tenure, patience)?;
        want.max_waiters = self.options.max_waiters(target.client.core().settings());
        target.join(&self.caller, &mut want, self.options.label(), &held)
    }

    fn finish(mut self) -> MultiGuard {
        let watch = self.watch.take();
        let waited = self.waited();
        let mut parts = Vec::with_capacity(self.slots.len());
        let mut nested = false;
        for slot in self.slots {
            let is_own = matches!(slot, Slot::Own(_));
            if let Slot::Own(holding) | Slot::Shared(holding) = slot {
                match is_own && self.rules.has_waited() {
                    true => holding.restart(self.tenure),
                    false => holding.park_for(self.tenure.at_least),
                }
                nested |= !is_own;
                parts.push(holding);
            }
        }
        let mut holding = Holding::join(parts);
        if nested {
            holding.nest(self.tenure.expire);
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
            attempts: self.rules.attempts(),
        }
    }
}
