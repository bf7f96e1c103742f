//! [`Seat`]: a process that stands for the seat, around the rules of leading.

use auto_mutex_protocol::leading::{Effect, Failed, Input, Seen, Term};
use auto_mutex_protocol::{Instant, LossCause, leading};

use super::rules::{Bodies, Setup};
use crate::name::rules::{TICK, ticks};
use crate::name::world::{Member, counted};

/// A process. Its client is the [`Member`] with the same index.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Seat {
    /// It is suspended.
    pub suspended: bool,
    /// It drains.
    pub draining: bool,
    /// What it does.
    pub stage: Stage,
    /// Its attempts to lead since its last term.
    pub attempts: leading::Seat,
    /// It ran a body while it was suspended, and was woken in this tick.
    pub woke: bool,
    /// The seats, as bits, that have waited since before this one's last term ended.
    pub behind: u8,
}

/// What a process does.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// It stands from this time on.
    Away(Instant),
    /// Its call waits.
    Waiting,
    /// Its call is granted. Whether it waits for the answer to a renewal.
    Granted(bool),
    /// It has a term.
    Leading(Office),
    /// Its lead has ended.
    Ended,
}

/// A term, and its body.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Office {
    /// The term.
    pub term: Term,
    /// By when it must report progress.
    pub stalls: Instant,
    /// When to look at it.
    pub look: Instant,
    /// Until when the lease was valid when it was last seen.
    pub valid: Instant,
    /// Its body runs.
    pub runs: bool,
    /// When the body was told, while it ran.
    pub told: Option<Instant>,
}

impl Seat {
    pub(super) fn new() -> Self {
        Self {
            suspended: false,
            draining: false,
            stage: Stage::Away(Instant::START),
            attempts: leading::Seat::default(),
            woke: false,
            behind: 0,
        }
    }

    /// Its term.
    pub fn office(&self) -> Option<&Office> {
        match &self.stage {
            Stage::Leading(office) => Some(office),
            _ => None,
        }
    }

    pub(super) fn office_mut(&mut self) -> Option<&mut Office> {
        match &mut self.stage {
            Stage::Leading(office) => Some(office),
            _ => None,
        }
    }

    /// Whether a body runs in the process.
    pub fn has_body(&self) -> bool {
        self.office().is_some_and(|office| office.runs)
    }

    /// A call for the lock has failed.
    pub(super) fn fails(&mut self, why: Failed, now: Instant, rules: &Setup) {
        let pause = self.attempts.failed(why, &rules.network.limits);
        self.stage = pause.map_or(Stage::Ended, |pause| Stage::Away(now.after(pause)));
    }

    /// Whether it has something to do before time goes on.
    pub(super) fn is_due(&self, now: Instant, rules: &Setup) -> bool {
        self.office().is_some_and(|office| {
            let told = office.told.filter(|_| rules.bodies == Bodies::InTime);
            let ends = told.map(|told| told.after(ticks(rules.stop_within)));
            office.look <= now || office.runs && ends.is_some_and(|ends| ends <= now.after(TICK))
        })
    }

    /// Brings its times into the canonical form.
    pub(super) fn canonical(&mut self, now: Instant, rules: &Setup) {
        let memory = rules.network.memory;
        let later = |at: &mut Instant| *at = counted((*at).max(now), now, memory);
        match &mut self.stage {
            Stage::Away(from) if *from <= now => *from = Instant::START,
            Stage::Away(from) => later(from),
            Stage::Leading(office) => {
                let times = [&mut office.stalls, &mut office.look, &mut office.valid];
                times.into_iter().for_each(later);
                office.term.times().for_each(later);
                if let Some(told) = &mut office.told {
                    let longest = ticks(match rules.bodies {
                        Bodies::InTime => rules.stop_within,
                        Bodies::Any => 0,
                    });
                    *told = counted((*told).max(now.before(longest)), now, memory);
                }
            }
            Stage::Waiting | Stage::Granted(_) | Stage::Ended => {}
        }
    }
}

impl Office {
    pub(super) fn new(member: &Member, rules: &Setup) -> Self {
        let now = member.now;
        Self {
            term: Term::new(rules.seat),
            stalls: rules.seat.stalls_at(now),
            look: now,
            valid: now,
            runs: false,
            told: None,
        }
    }

    /// Feeds its term.
    pub(super) fn on(&mut self, input: Input, member: &Member) -> Vec<Effect> {
        let seen = Seen {
            now: member.now,
            lost: (!holds(member)).then_some(LossCause::NotRenewed),
            valid: self.valid,
            stalls: self.stalls,
        };
        let mut effects = Vec::new();
        self.look = self.term.on(input, &seen, &mut effects);
        let tells = effects.iter().any(|it| matches!(it, Effect::Tell(_)));
        if tells && self.runs {
            self.told = Some(member.now);
        }
        effects
    }

    /// What `check()` says, which the body and the process read without asking the term.
    pub fn check(&self, member: &Member) -> bool {
        self.term.told().is_none() && holds(member)
    }

    /// Whether its body hangs.
    pub(super) fn hangs(&self, now: Instant) -> bool {
        self.term.is_overrun() && self.stalls <= now
    }
}

/// Whether the client has the lock, by its clock.
fn holds(member: &Member) -> bool {
    let holds = |hold: &auto_mutex_protocol::client::Hold<_>| hold.is_valid(member.now);
    let mut guards = member.guards.iter();
    guards.any(|guard| {
        let mut held = member.state.holds();
        held.find(|hold| hold.caller.id == guard.call)
            .is_some_and(holds)
    })
}
