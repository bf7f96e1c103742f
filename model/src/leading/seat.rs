//! The layer over the mutex: what the process of a seat does, by what it knows itself.
//!
//! A term has a body and is watched by a watchdog. In this order:
//!
//! 1. The term is *over* when the lock is lost, the validity has fallen to `stop_within`, the body has reported no
//!    progress for too long, the leader resigns, or the process drains. The body is told. Nothing makes the term valid
//!    again.
//! 2. The process goes on renewing the lease until the body has ended. Then it releases the lock.
//! 3. A body that has not ended `stop_within` after it was told, or at the end of the validity, is an *overrun*. The
//!    process is aborted, or the overrun is logged.
//! 4. If the body of an overrun has also reported no progress for too long, it hangs. The process gives the lock up.
//! 5. After the body has ended and the lock is released, the seat stands again, at the back of the queue. If the body
//!    returned `Ok`, or an error before it was told, or if the process drains, the lead ends.

use super::Id;
use super::rules::{Rules, Safeguard};

/// The process of a seat.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Seat {
    /// Whether the process runs.
    pub life: Life,
    /// The process is cut off from the store.
    pub cut: bool,
    /// The process drains.
    pub draining: bool,
    /// Whether the seat stands or leads.
    pub stage: Stage,
    /// The process ran a body while it was suspended, and has been woken in this tick.
    pub woke: bool,
    /// The seats, as bits, that have waited in the queue since before this seat's last term ended. Only the properties
    /// use it.
    pub behind: u8,
}

/// Whether a process runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Life {
    /// It runs.
    Up,
    /// It is suspended.
    Suspended,
    /// It was killed or aborted.
    Dead,
}

/// Where a seat is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// It will stand.
    Away,
    /// It stands, with this ticket.
    Waiting(Id),
    /// It has a term.
    Leading(Term),
    /// Its lead has ended.
    Ended,
}

/// What a term ended for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The store has given the lock to another, or lost it.
    Lost,
    /// The validity has fallen to `stop_within`.
    Validity,
    /// The body has reported no progress for too long.
    Progress,
    /// The leader resigned.
    Resigned,
    /// The process drains.
    Drain,
}

/// The body of a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Body {
    /// It has not begun.
    Before,
    /// It runs.
    Running,
    /// It blocks its thread. (Only without [`Safeguard::Watchdog`]: otherwise it is as if the body did nothing.)
    Blocking,
    /// It has ended; `true` if the lead ends with it.
    Ended(bool),
}

impl Body {
    /// Returns whether the body has begun and has not ended.
    #[must_use]
    pub fn runs(self) -> bool {
        matches!(self, Self::Running | Self::Blocking)
    }
}

/// A term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Term {
    /// The ticket of the lock.
    pub ticket: Id,
    /// The number of the term.
    pub number: Id,
    /// The process has the lock, as far as it knows: it has neither released nor lost it.
    pub held: bool,
    /// For how long the lease is valid, by the process's clock.
    pub valid: u8,
    /// The body.
    pub body: Body,
    /// What the term ended for, and how long ago, if it is over.
    pub over: Option<(Reason, u8)>,
    /// How long ago the body last reported progress.
    pub idle: u8,
    /// The body is an overrun, and was logged.
    pub overrun: bool,
    /// The body was told. Only the properties use it.
    pub told: bool,
}

/// A step of the watchdog that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Due {
    /// The term is over, and the body is told.
    Tell(Reason),
    /// The body is an overrun.
    Overrun,
    /// The lock is given up before the body has ended.
    GiveUp,
}

impl Seat {
    pub(super) fn new() -> Self {
        Self {
            life: Life::Up,
            cut: false,
            draining: false,
            stage: Stage::Away,
            woke: false,
            behind: 0,
        }
    }

    /// Returns whether the process runs.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.life == Life::Up
    }

    /// Returns whether the process runs and reaches the store.
    #[must_use]
    pub fn answers(&self) -> bool {
        self.is_up() && !self.cut
    }

    /// Returns the seat's term.
    #[must_use]
    pub fn term(&self) -> Option<&Term> {
        match &self.stage {
            Stage::Leading(term) => Some(term),
            _ => None,
        }
    }

    pub(super) fn term_mut(&mut self) -> Option<&mut Term> {
        match &mut self.stage {
            Stage::Leading(term) => Some(term),
            _ => None,
        }
    }

    /// Returns whether a body runs in this process.
    #[must_use]
    pub fn has_body(&self) -> bool {
        self.term().is_some_and(|term| term.body.runs())
    }

    /// Returns the step of the watchdog that is due.
    #[must_use]
    pub fn due(&self, rules: &Rules) -> Option<Due> {
        let term = self.term().filter(|_| self.is_up())?;
        let depends = !rules.keeps(Safeguard::Watchdog);
        if depends && term.body == Body::Blocking {
            return None;
        }
        if term.over.is_none() {
            return term.is_over_for(self.draining, rules).map(Due::Tell);
        }
        if term.is_overrun(rules) && !term.overrun {
            return Some(Due::Overrun);
        }
        let hangs = term.overrun && term.held && term.hangs(rules);
        (hangs && rules.keeps(Safeguard::GiveUp)).then_some(Due::GiveUp)
    }

    pub(super) fn tick(&mut self, rules: &Rules) {
        self.woke = false;
        if let Stage::Leading(term) = &mut self.stage {
            term.valid = term.valid.saturating_sub(1);
            if let Some((_, since)) = &mut term.over {
                *since = rules.stop_within.min(*since + 1);
            }
            if term.body.runs() {
                term.idle = rules.progress.min(term.idle + 1);
            }
        }
    }
}

impl Term {
    pub(super) fn new(ticket: Id, number: Id, rules: &Rules) -> Self {
        Self {
            ticket,
            number,
            held: true,
            valid: rules.validity(),
            body: Body::Before,
            over: None,
            idle: 0,
            overrun: false,
            told: false,
        }
    }

    fn is_late(&self, rules: &Rules) -> bool {
        let limit = match rules.keeps(Safeguard::TellEarly) {
            true => rules.stop_within,
            false => 0,
        };
        self.valid <= limit
    }

    fn is_idle(&self, rules: &Rules) -> bool {
        rules.progress > 0 && self.idle >= rules.progress
    }

    fn is_over_for(&self, draining: bool, rules: &Rules) -> Option<Reason> {
        if matches!(self.body, Body::Ended(_)) {
            None
        } else if !self.held {
            Some(Reason::Lost)
        } else if self.is_late(rules) {
            Some(Reason::Validity)
        } else if draining {
            Some(Reason::Drain)
        } else if self.is_idle(rules) {
            Some(Reason::Progress)
        } else {
            None
        }
    }

    pub(super) fn end(&mut self, reason: Reason) {
        self.over = Some((reason, 0));
        self.told |= self.body.runs();
    }

    /// Returns whether the body has had its time to end.
    #[must_use]
    pub fn is_overrun(&self, rules: &Rules) -> bool {
        let told = self.over.is_some_and(|(_, ago)| ago >= rules.stop_within);
        let ended = self.valid == 0 && rules.keeps(Safeguard::OverrunAtValidity);
        self.body.runs() && self.over.is_some() && (told || ended)
    }

    /// Returns whether an overrun loses the lock although its body has not ended.
    #[must_use]
    pub fn hangs(&self, rules: &Rules) -> bool {
        let over_for = self.over.map(|(reason, _)| reason);
        let counts = rules.keeps(Safeguard::WhateverFor) || over_for == Some(Reason::Progress);
        self.is_overrun(rules) && self.is_idle(rules) && counts
    }

    /// Returns what `check()` answers.
    #[must_use]
    pub fn check(&self, rules: &Rules) -> bool {
        let in_time = !self.is_late(rules) || !rules.keeps(Safeguard::CheckReadsClock);
        self.over.is_none() && in_time
    }

    pub(super) fn may_begin(&self, draining: bool, rules: &Rules) -> bool {
        let in_time = self.over.is_none() && self.is_over_for(draining, rules).is_none();
        self.body == Body::Before && self.held && (in_time || !rules.keeps(Safeguard::BeginInTime))
    }

    pub(super) fn renews(&self, rules: &Rules) -> bool {
        self.held && (self.over.is_none() || rules.keeps(Safeguard::RenewUntilEnd))
    }

    /// A renewal was answered.
    pub(super) fn renewed(&mut self, rules: &Rules) {
        self.valid = rules.validity();
        if !rules.keeps(Safeguard::StaysOver) && matches!(self.over, Some((Reason::Validity, _))) {
            self.over = None;
        }
    }

    /// Returns whether the body has ended, or will not begin.
    #[must_use]
    pub fn is_done(&self) -> bool {
        match self.body {
            Body::Before => self.over.is_some(),
            Body::Running | Body::Blocking => false,
            Body::Ended(_) => true,
        }
    }

    pub(super) fn may_release(&self, rules: &Rules) -> bool {
        let early = !rules.keeps(Safeguard::ReleaseAfterEnd) && self.over.is_some();
        self.held && (self.is_done() || early)
    }

    /// The body returns. Returns whether the lead ends.
    pub(super) fn returns(&mut self, ok: bool, rules: &Rules) -> bool {
        let valid = self.over.is_none() || !rules.keeps(Safeguard::LostError);
        let ends = ok || valid;
        self.body = Body::Ended(ends);
        ends
    }

    /// Where the seat goes after the term.
    pub(super) fn after(&self, draining: bool, rules: &Rules) -> Stage {
        let ends = self.body == Body::Ended(true) || draining;
        match ends || !rules.keeps(Safeguard::StandsAgain) {
            true => Stage::Ended,
            false => Stage::Away,
        }
    }
}
