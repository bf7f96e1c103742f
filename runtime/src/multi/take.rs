//! Taking several names.
//!
//! All are tried at once, in the order of their names. Where one is busy, what was granted behind it is given back,
//! what lies before it is kept, and it is waited for in its queue; then the rest is tried again. Nobody waits for a
//! name while holding a greater one, so no circle of waiting can close; and each name is first come, first served.
//!
//! Everything that was asked for or obtained lies in [`Slot`]s until the end: dropped at any point, the call gives it back
//! in the background. A call that fails waits until the store has it back, for a moment at most: whoever hears
//! that one name is busy finds the others free.

use std::time::Duration;

use super::MultiGuard;
use super::budget::Budget;
use super::names::in_order;
use crate::clock::Instant;
use crate::error::LockError;
use crate::handle::{AcquireTarget, Holding, Options};
use crate::lease::Terms;
use crate::mutex::ONE_OF_ONE;
use crate::queue::{Acquire, Patience, Unlocked};

/// How often the call begins anew because what it kept was lost while it waited for the rest.
const ANEW: u32 = 5;

/// Takes the mutex of each name; `targets` may be in any order, and name a lock twice.
pub(crate) async fn take(
    targets: Vec<AcquireTarget<'_>>,
    options: &Options,
    blocking: bool,
) -> Result<MultiGuard, LockError> {
    Call::new(targets, options, blocking)?.run().await
}

/// As [`take`], if that needs no waiting.
pub(super) async fn try_take(
    targets: Vec<AcquireTarget<'_>>,
    options: &Options,
    blocking: bool,
) -> Result<MultiGuard, LockError> {
    let mut call = Call::new(targets, options, blocking)?;
    call.budget = Budget::new(Patience::NONE);
    call.run().await
}

/// What a call has of one name.
#[derive(Default)]
enum Slot {
    #[default]
    Nothing,
    /// An attempt under way.
    Asked(Acquire),
    /// What the task had before.
    Shared(Holding),
    Own(Holding),
}

impl Slot {
    /// Gives back what the call has of its own.
    fn give_back(self) -> Option<Unlocked> {
        match self {
            Self::Own(holding) => holding.give_back(),
            Self::Asked(acquire) => acquire.give_back(),
            Self::Shared(_) | Self::Nothing => None,
        }
    }
}

struct Call<'a> {
    /// In order, each once.
    targets: Vec<AcquireTarget<'a>>,
    slots: Vec<Slot>,
    /// What was given back on the way, and the store may not have yet.
    given_back: Vec<Unlocked>,
    terms: Terms,
    budget: Budget,
    blocking: bool,
    /// Some name was waited for: the terms of those before it count from the end.
    waits: bool,
}

impl<'a> Call<'a> {
    fn new(
        targets: Vec<AcquireTarget<'a>>,
        options: &Options,
        blocking: bool,
    ) -> Result<Self, LockError> {
        let targets = in_order(targets, |target| &target.name)?;
        let (terms, patience) = options.apply(targets[0].client.member().settings())?;
        let mut slots = Vec::with_capacity(targets.len());
        for target in &targets {
            let held = target.held_already(options.reentrant, ONE_OF_ONE, blocking)?;
            held.as_ref().map_or(Ok(()), Holding::check)?;
            slots.push(held.map_or(Slot::Nothing, Slot::Shared));
        }
        Ok(Self {
            targets,
            slots,
            given_back: Vec::new(),
            terms,
            budget: Budget::new(patience),
            blocking,
            waits: false,
        })
    }

    async fn run(mut self) -> Result<MultiGuard, LockError> {
        match self.obtain().await {
            Ok(()) => Ok(self.finish()),
            Err(error) => {
                self.give_back().await;
                Err(error)
            }
        }
    }

    async fn obtain(&mut self) -> Result<(), LockError> {
        let mut anew = 0;
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
                Some(error) if anew == ANEW => return Err(error),
                Some(_) => anew += 1,
            }
            self.begin_anew()?;
        }
    }

    /// Tries what is missing, all at once. Returns the first that cannot be had yet.
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
                Err(error) if error.is_passing() => return Ok(Some((index, error))),
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Nothing that was asked for behind `index` may be kept while that is waited for.
    fn give_back_behind(&mut self, index: usize) {
        for slot in &mut self.slots[index..] {
            if matches!(slot, Slot::Asked(_)) {
                self.given_back.extend(std::mem::take(slot).give_back());
            }
        }
    }

    /// Waits until the store has what was given back on the way.
    async fn confirm(&mut self) {
        for release in std::mem::take(&mut self.given_back) {
            // Whoever waits has an answer already.
            let _ = release.wait().await;
        }
    }

    /// Gives everything back, and waits until the store has it. A store that does not answer keeps nobody for longer than a
    /// call that does not wait: then it is released in the background.
    async fn give_back(&mut self) {
        let slots = self.slots.drain(..);
        self.given_back.extend(slots.filter_map(Slot::give_back));
        self.confirm().await;
    }

    /// Waits for one name in its queue, with everything before it in hand.
    async fn wait_for(&mut self, index: usize, patience: Patience) -> Result<(), LockError> {
        self.waits = true;
        let unlimited = Terms {
            expire: None,
            at_least: Duration::ZERO,
        };
        for slot in &self.slots {
            if let Slot::Own(holding) = slot {
                holding.restart(unlimited);
            }
        }
        let acquire = self.enter(index, patience)?;
        let hold = acquire.await.map_err(|error| self.budget.tell(error))?;
        self.budget.waited_for(hold.grant().attempts);
        self.slots[index] = Slot::Own(Holding::unused(hold));
        Ok(())
    }

    fn enter(&self, index: usize, patience: Patience) -> Result<Acquire, LockError> {
        let terms = Terms {
            at_least: Duration::ZERO,
            ..self.terms
        };
        self.targets[index].enter(ONE_OF_ONE, terms, patience, self.blocking)
    }

    /// Why what was obtained is not all there any more, if so.
    fn lost(&self) -> Option<LockError> {
        self.slots.iter().find_map(|slot| match slot {
            Slot::Shared(holding) | Slot::Own(holding) => holding.check().err(),
            Slot::Asked(_) | Slot::Nothing => None,
        })
    }

    /// Something was lost on the way: what is left must not be kept while what comes before it is waited for.
    fn begin_anew(&mut self) -> Result<(), LockError> {
        for slot in &mut self.slots {
            match slot {
                // It is the calling body's, which will hear of it too.
                Slot::Shared(holding) => holding.check()?,
                slot => self.given_back.extend(std::mem::take(slot).give_back()),
            }
        }
        Ok(())
    }

    fn finish(self) -> MultiGuard {
        let waited = self.budget.waited();
        let mut parts = Vec::with_capacity(self.slots.len());
        let mut nested = false;
        for slot in self.slots {
            match slot {
                Slot::Own(holding) if !self.waits => {
                    holding.first().keep(self.terms.at_least, Instant::now());
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
        for (target, hold) in self.targets.iter().zip(holds.all()) {
            target.obtained(hold, holds, self.blocking);
        }
        MultiGuard::new(holding, waited, self.budget.attempts())
    }
}
