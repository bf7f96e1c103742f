//! [`Together`]: one call that takes several names, all or none. It tries all of them; if one is busy, it keeps those
//! before it, gives back those after it, waits in the queue of the busy one, and then tries the rest again. So no call
//! waits for a name while it holds a greater one, and such calls never make a deadlock.
//!
//! What happens at each name is the business of its [`State`](super::State).

use alloc::vec::Vec;
use core::time::Duration;

use super::call::Patience;
use crate::Instant;

/// How often a call starts over because it lost a lock while it waited for another.
const MOST_RESTARTS: u32 = 5;

/// A call for several names, which are sorted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Together {
    slots: Vec<Slot>,
    patience: Patience,
    started: Instant,
    /// The name in whose queue it waits.
    waits_for: Option<usize>,
    /// Whether it has waited.
    waited: bool,
    attempts: u32,
    /// The attempts made while it waited.
    retried: u32,
    restarts: u32,
}

/// What a call has of one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Slot {
    /// Nothing.
    Missing,
    /// A request without an answer.
    Asked,
    /// The lock, for this call.
    Own,
    /// The lock, which its task had before.
    Shared,
}

/// What happens to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TogetherInput {
    /// It begins.
    Begin,
    /// It has got this name, after so many attempts.
    Obtained(usize, u32),
    /// It has not, because others have it.
    Busy(usize),
    /// It has not, for another reason, or it has waited as long as it may.
    Refused(usize),
    /// All names are still held; or one is not, if possible one that its task had before.
    Looked {
        /// The name that was lost.
        lost: Option<usize>,
    },
}

/// What follows, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TogetherEffect {
    /// Enter the queue of this name, or try to get it.
    Enter(usize, Patience),
    /// Give back the lock of this name, or the request for it.
    GiveBack(usize),
    /// Before anything else, let the store confirm what was given back.
    Confirm,
    /// The hold of this name has no end while the call waits.
    Hold(usize),
    /// [Look](TogetherInput::Looked) whether all names are still held.
    Look,
    /// It has all.
    Done,
    /// It has failed, for the reason of the last input. What follows gives everything back.
    Failed,
}

use TogetherEffect::{Confirm, Done, Enter, Failed, GiveBack, Hold, Look};

impl Together {
    /// For each name: whether the task of the call has it already.
    pub fn new(shared: impl IntoIterator<Item = bool>, patience: Patience, now: Instant) -> Self {
        let slot = |shared| match shared {
            true => Slot::Shared,
            false => Slot::Missing,
        };
        Self {
            slots: shared.into_iter().map(slot).collect(),
            patience,
            started: now,
            waits_for: None,
            waited: false,
            attempts: 0,
            retried: 0,
            restarts: 0,
        }
    }

    /// What it has of each name.
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// The name in whose queue it waits.
    pub fn waits_for(&self) -> Option<usize> {
        self.waits_for
    }

    /// Whether it has waited. Then `expire` begins for all names at the end.
    pub fn has_waited(&self) -> bool {
        self.waited
    }

    /// How long it waits, and how.
    pub fn patience(&self) -> Patience {
        self.patience
    }

    /// For how long it goes on.
    pub fn took(&self, now: Instant) -> Duration {
        self.started.until(now)
    }

    /// How often it has asked.
    pub fn attempts(&self) -> u32 {
        self.attempts
    }

    /// Whether it has retried as often as it may.
    pub fn has_used_up(&self) -> bool {
        matches!(self.patience, Patience::Poll { retries, .. } if self.retried >= retries)
    }

    /// What an input changes, and what follows from it.
    pub fn on(&mut self, input: TogetherInput, now: Instant, effects: &mut Vec<TogetherEffect>) {
        match input {
            TogetherInput::Begin => self.try_rest(now, effects),
            TogetherInput::Obtained(index, attempts) => {
                self.slots[index] = Slot::Own;
                if self.waits_for.take().is_some() {
                    self.attempts = self.attempts.saturating_add(attempts);
                    self.retried = self.retried.saturating_add(attempts);
                    effects.push(Confirm);
                    self.try_rest(now, effects);
                } else if !self.slots.contains(&Slot::Asked) {
                    effects.push(Look);
                }
            }
            TogetherInput::Busy(index) => {
                self.slots[index] = Slot::Missing;
                let patience = self.patience_left(now).filter(|_| self.waits_for.is_none());
                match patience {
                    Some(patience) => self.wait_for(index, patience, effects),
                    None => self.fail(effects),
                }
            }
            TogetherInput::Refused(index) => {
                self.slots[index] = Slot::Missing;
                self.fail(effects);
            }
            TogetherInput::Looked { lost: None } => effects.push(Done),
            // What its task had before does not come back.
            TogetherInput::Looked { lost: Some(index) }
                if self.slots[index] == Slot::Shared || self.restarts == MOST_RESTARTS =>
            {
                self.fail(effects);
            }
            TogetherInput::Looked { lost: Some(_) } => {
                self.restarts += 1;
                // It must keep nothing while it waits for a smaller name.
                self.give_back(|slot| slot == Slot::Own, effects);
                self.try_rest(now, effects);
            }
        }
    }

    fn try_rest(&mut self, now: Instant, effects: &mut Vec<TogetherEffect>) {
        let silence = self.patience.silence();
        let silence = silence.map(|time| time.saturating_sub(self.took(now)));
        let before = effects.len();
        for (index, slot) in self.slots.iter_mut().enumerate() {
            if *slot == Slot::Missing {
                *slot = Slot::Asked;
                effects.push(Enter(index, Patience::Once { silence }));
            }
        }
        match effects.len() > before {
            true => self.attempts = self.attempts.saturating_add(1),
            false => effects.push(Look),
        }
    }

    fn wait_for(&mut self, index: usize, patience: Patience, effects: &mut Vec<TogetherEffect>) {
        self.give_back(|slot| slot == Slot::Asked, effects);
        for (own, slot) in self.slots.iter().enumerate() {
            if *slot == Slot::Own {
                effects.push(Hold(own));
            }
        }
        self.slots[index] = Slot::Asked;
        self.waits_for = Some(index);
        self.waited = true;
        effects.push(Enter(index, patience));
    }

    fn fail(&mut self, effects: &mut Vec<TogetherEffect>) {
        self.waits_for = None;
        effects.push(Failed);
        self.give_back(|slot| slot != Slot::Shared, effects);
        effects.push(Confirm);
    }

    fn give_back(&mut self, which: impl Fn(Slot) -> bool, effects: &mut Vec<TogetherEffect>) {
        for (index, slot) in self.slots.iter_mut().enumerate() {
            if *slot != Slot::Missing && which(*slot) {
                *slot = Slot::Missing;
                effects.push(GiveBack(index));
            }
        }
    }

    /// The patience left for the next wait; `None` if the call may not wait any more.
    fn patience_left(&self, now: Instant) -> Option<Patience> {
        let waited = self.took(now);
        let left = |block: Option<Duration>| {
            let left = block.map(|block| block.saturating_sub(waited));
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
}
