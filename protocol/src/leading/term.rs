//! [`Term`]: one time in office, from the grant until the body has ended. Once the body was told to end, nothing makes
//! the term go on, not even a later renewal.

use alloc::vec::Vec;

use super::Rules;
use crate::{Instant, LossCause};

/// What happens to a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Input {
    /// The leader resigns, or its client drains.
    Tell(LossCause),
    /// Its time has come: see [`Term::on`].
    Look,
    /// The body has ended.
    Ended,
}

/// What a term depends on. All of it changes without the term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Seen {
    /// The client's time.
    pub now: Instant,
    /// Why the lock is lost, if it is.
    pub lost: Option<LossCause>,
    /// Until when its lease is valid.
    pub valid: Instant,
    /// By when the leader must report progress: see [`Rules::stalls_at`].
    pub stalls: Instant,
}

/// What follows, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// The body is told to end, for this cause.
    Tell(LossCause),
    /// The body has not ended in time.
    Overrun {
        /// What it was told.
        cause: LossCause,
        /// Whether the process is aborted.
        aborts: bool,
    },
    /// The body hangs. Its lock is released, so that it does not lead for ever.
    GiveUp,
}

/// One time in office.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Term {
    rules: Rules,
    told: Option<LossCause>,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Stage {
    Leads,
    /// By when the body must have ended.
    Stops(Instant),
    Overran,
    GivenUp,
    Ended,
}

impl Term {
    /// A term that begins now.
    pub fn new(rules: Rules) -> Self {
        Self {
            rules,
            told: None,
            stage: Stage::Leads,
        }
    }

    /// What the body was told, if it was told to end.
    pub fn told(&self) -> Option<LossCause> {
        self.told
    }

    /// Whether the body has not ended in time.
    pub fn is_overrun(&self) -> bool {
        matches!(self.stage, Stage::Overran | Stage::GivenUp)
    }

    /// Whether the body has ended.
    pub fn has_ended(&self) -> bool {
        self.stage == Stage::Ended
    }

    /// What an input changes, and what follows from it: added to `effects`, in order. Returns when to look again; by
    /// then, the validity may have been extended.
    pub fn on(&mut self, input: Input, seen: &Seen, effects: &mut Vec<Effect>) -> Instant {
        match input {
            Input::Tell(cause) => self.tell(cause, seen, effects),
            Input::Look => self.look(seen, effects),
            Input::Ended => self.stage = Stage::Ended,
        }
        self.looks_at(seen)
    }

    fn looks_at(&self, seen: &Seen) -> Instant {
        match self.stage {
            Stage::Leads => self.rules.tells_at(seen.valid).min(seen.stalls),
            Stage::Stops(ends) => ends,
            Stage::Overran => seen.stalls,
            Stage::GivenUp | Stage::Ended => Instant::NEVER,
        }
    }

    fn look(&mut self, seen: &Seen, effects: &mut Vec<Effect>) {
        if let Some(cause) = self.is_over(seen) {
            self.tell(cause, seen, effects);
        }
        if let (Stage::Stops(ends), Some(cause)) = (self.stage, self.told)
            && ends <= seen.now
        {
            self.stage = Stage::Overran;
            let aborts = self.rules.aborts();
            effects.push(Effect::Overrun { cause, aborts });
        }
        if self.stage == Stage::Overran && seen.stalls <= seen.now {
            self.stage = Stage::GivenUp;
            effects.extend(seen.lost.is_none().then_some(Effect::GiveUp));
        }
    }

    fn is_over(&self, seen: &Seen) -> Option<LossCause> {
        if seen.lost.is_some() {
            seen.lost
        } else if self.rules.tells_at(seen.valid) <= seen.now {
            Some(LossCause::NotRenewed)
        } else {
            (seen.stalls <= seen.now).then_some(LossCause::Stalled)
        }
    }

    /// Only the first cause counts.
    fn tell(&mut self, cause: LossCause, seen: &Seen, effects: &mut Vec<Effect>) {
        if self.stage == Stage::Leads {
            self.told = Some(cause);
            self.stage = Stage::Stops(self.rules.stops_at(seen.valid, seen.now));
            effects.push(Effect::Tell(cause));
        }
    }

    /// The times in it, for an explorer of states.
    #[cfg(any(test, feature = "test-util"))]
    pub fn times(&mut self) -> impl Iterator<Item = &mut Instant> {
        match &mut self.stage {
            Stage::Stops(ends) => Some(ends),
            _ => None,
        }
        .into_iter()
    }
}
