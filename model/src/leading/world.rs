//! The state of the model, and the possible steps.

use std::fmt;

use super::Id;
use super::rules::{Bodies, Faults, Rules, Safeguard};
use super::seat::{Body, Due, Life, Reason, Seat, Stage, Term};
use super::store::Store;

/// The whole state of the model.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    /// The lock.
    pub store: Store,
    /// The seats.
    pub seats: Vec<Seat>,
    /// The faults that may still happen.
    pub faults: Faults,
    /// The highest ticket number so far.
    pub last_ticket: Id,
    /// Facts about the past that the properties need.
    pub past: Past,
}

/// Facts that no process knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Past {
    /// The greatest number of a term.
    pub newest: Id,
    /// A term's number was not greater than all earlier ones.
    pub number_fell: bool,
    /// The lock left a process whose body had not ended and did not hang.
    pub left_a_body: bool,
    /// A seat led again before another that had waited since before its last term ended.
    pub jumped: bool,
    /// An error that a body returned after it was told ended the lead.
    pub lost_error_ended: bool,
}

/// One step of the model. The number is the index of the seat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Every clock advances.
    Tick,
    /// The seat enters the queue.
    Stand(usize),
    /// A draining seat leaves the queue.
    Withdraw(usize),
    /// The store grants to the first of the queue.
    Grant(usize),
    /// The first of the queue does not answer, and loses its place.
    Pass(usize),
    /// The body begins.
    Begin(usize),
    /// The body reports progress.
    Progress(usize),
    /// The body blocks its thread.
    Block(usize),
    /// The body returns `Ok`, or an error. A body that is cancelled has an error as well.
    Return(usize, bool),
    /// The leader resigns.
    Resign(usize),
    /// The watchdog does what is due.
    Watch(usize, Due),
    /// The store renews the lease. If `true`, the answer arrives.
    Renew(usize, bool),
    /// The lock is released.
    Release(usize),
    /// The term has ended, and the seat goes on.
    Leave(usize),
    /// The process drains.
    Drain(usize),
    /// The process is killed.
    Kill(usize),
    /// The process is suspended.
    Suspend(usize),
    /// The process is woken.
    Wake(usize),
    /// The process is cut off from the store.
    Cut(usize),
    /// The process reaches the store again.
    Heal(usize),
    /// The store restarts without its data.
    Restart,
    /// Somebody breaks the lock.
    Force,
}

impl World {
    /// Returns a world in which no seat stands yet.
    #[must_use]
    pub fn new(rules: &Rules) -> Self {
        Self {
            store: Store::default(),
            seats: (0..rules.seats).map(|_| Seat::new()).collect(),
            faults: rules.faults,
            last_ticket: 0,
            past: Past::default(),
        }
    }

    /// Collects the steps that are possible now.
    pub fn enabled(&self, rules: &Rules, actions: &mut Vec<Action>) {
        if !self.seats.iter().any(|seat| holds_up_time(seat, rules)) {
            actions.push(Action::Tick);
        }
        if self.store.holder.is_none()
            && self.store.closed == 0
            && let Some((_, first)) = self.store.queue.first()
        {
            let first = usize::from(*first);
            actions.push(match self.seats[first].answers() {
                true => Action::Grant(first),
                false => Action::Pass(first),
            });
        }
        for index in 0..self.seats.len() {
            self.enabled_at(index, rules, actions);
        }
        self.enabled_faults(actions);
    }

    fn enabled_at(&self, index: usize, rules: &Rules, actions: &mut Vec<Action>) {
        let seat = &self.seats[index];
        if !seat.is_up() {
            return;
        }
        match &seat.stage {
            Stage::Away => {
                actions.push(match seat.draining {
                    true => Action::Withdraw(index),
                    false => Action::Stand(index),
                });
            }
            Stage::Waiting(ticket) => {
                let known = self.store.has_waiter(*ticket);
                if seat.draining {
                    actions.push(Action::Withdraw(index));
                } else if !known && rules.keeps(Safeguard::StandsAgain) {
                    actions.push(Action::Stand(index));
                }
            }
            Stage::Leading(term) => self.enabled_leading(index, term, rules, actions),
            Stage::Ended => {}
        }
        // What needs the store.
        if seat.cut {
            actions.retain(|action| *action != Action::Stand(index));
        }
    }

    fn enabled_leading(&self, index: usize, term: &Term, rules: &Rules, actions: &mut Vec<Action>) {
        let seat = &self.seats[index];
        if let Some(due) = seat.due(rules) {
            actions.push(Action::Watch(index, due));
        }
        if term.may_begin(seat.draining, rules) {
            actions.push(Action::Begin(index));
        }
        if term.body == Body::Running {
            if rules.progress > 0 && term.idle > 0 {
                actions.push(Action::Progress(index));
            }
            if rules.returns {
                actions.push(Action::Return(index, true));
            }
            if rules.returns || term.over.is_some() || term.told {
                actions.push(Action::Return(index, false));
            }
            if !rules.keeps(Safeguard::Watchdog) {
                actions.push(Action::Block(index));
            }
        }
        if rules.resigns && term.body.runs() && term.over.is_none() {
            actions.push(Action::Resign(index));
        }
        if !seat.cut && !rules.prompt && term.renews(rules) {
            actions.push(Action::Renew(index, true));
            actions.push(Action::Renew(index, false));
        }
        if term.may_release(rules) {
            actions.push(Action::Release(index));
        }
        if term.is_done() && !term.held {
            actions.push(Action::Leave(index));
        }
    }

    fn enabled_faults(&self, actions: &mut Vec<Action>) {
        let left = &self.faults;
        for (index, seat) in self.seats.iter().enumerate() {
            let lives = seat.life != Life::Dead && seat.stage != Stage::Ended;
            if !lives {
                continue;
            }
            if left.kills > 0 {
                actions.push(Action::Kill(index));
            }
            if left.drains > 0 && seat.is_up() && !seat.draining {
                actions.push(Action::Drain(index));
            }
            if seat.life == Life::Suspended {
                actions.push(Action::Wake(index));
            } else if left.suspends > 0 {
                actions.push(Action::Suspend(index));
            }
            if seat.cut {
                actions.push(Action::Heal(index));
            } else if left.cuts > 0 {
                actions.push(Action::Cut(index));
            }
        }
        if left.restarts > 0 && (self.store.holder.is_some() || !self.store.queue.is_empty()) {
            actions.push(Action::Restart);
        }
        if left.forces > 0 && self.store.holder.is_some() {
            actions.push(Action::Force);
        }
    }

    /// Carries out one step.
    pub fn happen(&mut self, action: Action, rules: &Rules) {
        match action {
            Action::Tick => self.tick(rules),
            Action::Stand(index) => {
                self.last_ticket += 1;
                self.seats[index].stage = Stage::Waiting(self.last_ticket);
                self.store.stand(self.last_ticket, index as u8, rules);
            }
            Action::Withdraw(index) => {
                if !self.seats[index].cut {
                    self.store.queue.retain(|waiter| waiter.1 != index as u8);
                }
                self.seats[index].stage = Stage::Ended;
                self.no_longer_waits(index);
            }
            Action::Grant(_) => self.grant(rules),
            Action::Pass(index) => {
                self.store.queue.remove(0);
                self.no_longer_waits(index);
            }
            Action::Drain(index) => {
                self.faults.drains -= 1;
                self.seats[index].draining = true;
            }
            Action::Kill(index) => {
                self.faults.kills -= 1;
                self.die(index);
            }
            Action::Suspend(index) => {
                self.faults.suspends -= 1;
                self.seats[index].life = Life::Suspended;
            }
            Action::Wake(index) => {
                let seat = &mut self.seats[index];
                seat.life = Life::Up;
                seat.woke = seat.has_body();
            }
            Action::Cut(index) => {
                self.faults.cuts -= 1;
                self.seats[index].cut = true;
            }
            Action::Heal(index) => self.seats[index].cut = false,
            Action::Restart => {
                self.faults.restarts -= 1;
                self.store = Store {
                    closed: rules.lease,
                    ..Store::default()
                };
                for seat in &mut self.seats {
                    seat.behind = 0;
                }
            }
            Action::Force => {
                self.faults.forces -= 1;
                self.store.holder = None;
            }
            _ => self.lead_on(action, rules),
        }
    }

    /// Carries out a step of a term.
    fn lead_on(&mut self, action: Action, rules: &Rules) {
        match action {
            Action::Watch(index, Due::Overrun) if rules.aborts => self.die(index),
            Action::Watch(index, Due::GiveUp) | Action::Release(index) => {
                self.release(index, rules);
            }
            Action::Renew(index, answered) => self.renew(index, answered, rules),
            Action::Leave(index) => {
                let seat = &mut self.seats[index];
                if let Stage::Leading(term) = seat.stage {
                    seat.stage = term.after(seat.draining, rules);
                }
            }
            Action::Watch(index, due) => self.on_term(index, |term| match due {
                Due::Tell(reason) => term.end(reason),
                Due::Overrun | Due::GiveUp => term.overrun = true,
            }),
            Action::Begin(index) => self.on_term(index, |term| term.body = Body::Running),
            Action::Progress(index) => self.on_term(index, |term| term.idle = 0),
            Action::Block(index) => self.on_term(index, |term| term.body = Body::Blocking),
            Action::Resign(index) => self.on_term(index, |term| term.end(Reason::Resigned)),
            Action::Return(index, ok) => {
                if let Some(term) = self.seats[index].term_mut() {
                    let lost_error = !ok && term.told;
                    let ends = term.returns(ok, rules);
                    self.past.lost_error_ended |= lost_error && ends;
                }
            }
            _ => {}
        }
    }

    fn on_term(&mut self, index: usize, change: impl FnOnce(&mut Term)) {
        if let Some(term) = self.seats[index].term_mut() {
            change(term);
        }
    }

    fn grant(&mut self, rules: &Rules) {
        let (ticket, index) = self.store.grant(rules);
        let index = usize::from(index);
        self.no_longer_waits(index);
        let number = match rules.keeps(Safeguard::NumberIsToken) {
            true => self.past.newest + 1,
            false => self.store.count,
        };
        self.past.number_fell |= number <= self.past.newest;
        self.past.newest = self.past.newest.max(number);
        let answering = |other: &usize| {
            let waited = self.seats[index].behind >> other & 1 == 1;
            waited && self.seats[*other].answers()
        };
        self.past.jumped |= (0..self.seats.len()).any(|other| answering(&other));
        self.seats[index].behind = 0;
        self.seats[index].stage = Stage::Leading(Term::new(ticket, number, rules));
    }

    /// No seat has to come after this one any more.
    fn no_longer_waits(&mut self, index: usize) {
        for seat in &mut self.seats {
            seat.behind &= !(1 << index);
        }
    }

    fn renew(&mut self, index: usize, answered: bool, rules: &Rules) {
        let Some(term) = self.seats[index].term_mut() else {
            return;
        };
        let holds = self.store.renew(term.ticket, rules);
        if !answered {
            return;
        }
        if holds {
            term.renewed(rules);
        } else {
            term.held = false;
        }
    }

    /// Sends the release. If the process is cut off, the lease has to end.
    fn release(&mut self, index: usize, rules: &Rules) {
        let behind = self.store.queue.iter().map(|waiter| 1 << waiter.1);
        let behind = behind.fold(0, |all: u8, one: u8| all | one);
        let seat = &mut self.seats[index];
        seat.behind = behind;
        let cut = seat.cut;
        let Stage::Leading(term) = &mut seat.stage else {
            return;
        };
        term.held = false;
        let (ticket, early) = (term.ticket, term.body.runs() && !term.hangs(rules));
        if !cut {
            self.past.left_a_body |= early && self.store.is_held_by(ticket);
            self.store.release(ticket);
        }
    }

    fn die(&mut self, index: usize) {
        self.seats[index] = Seat {
            life: Life::Dead,
            stage: Stage::Away,
            ..Seat::new()
        };
    }

    fn tick(&mut self, rules: &Rules) {
        for index in 0..self.seats.len() {
            let seat = &self.seats[index];
            let renews = seat.term().is_some_and(|term| term.renews(rules));
            if rules.prompt && seat.answers() && renews {
                self.renew(index, true, rules);
            }
        }
        let held = self.store.holder;
        self.store.tick();
        if let Some(held) = held
            && self.store.holder.is_none()
            && let Some(term) = self.seats[usize::from(held.seat)].term()
        {
            let same = term.ticket == held.ticket;
            self.past.left_a_body |= same && term.body.runs() && !term.hangs(rules);
        }
        for seat in &mut self.seats {
            seat.tick(rules);
        }
    }
}

/// Returns whether a process has a step that it carries out before the next tick.
fn holds_up_time(seat: &Seat, rules: &Rules) -> bool {
    let Some(term) = seat.term().filter(|_| seat.is_up()) else {
        return false;
    };
    let last_chance = |(_, ago): (Reason, u8)| ago + 1 >= rules.stop_within;
    let must_end = rules.bodies == Bodies::InTime && term.body.runs();
    seat.due(rules).is_some() || must_end && term.over.is_some_and(last_chance)
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |index: &usize| char::from(b'A' + *index as u8);
        match self {
            Self::Tick => write!(f, "a tick"),
            Self::Stand(of) => write!(f, "{} stands", name(of)),
            Self::Withdraw(of) => write!(f, "{} leaves the queue", name(of)),
            Self::Grant(of) => write!(f, "{} is granted", name(of)),
            Self::Pass(of) => write!(f, "{} does not answer and loses its place", name(of)),
            Self::Begin(of) => write!(f, "{}'s body begins", name(of)),
            Self::Progress(of) => write!(f, "{}'s body makes progress", name(of)),
            Self::Block(of) => write!(f, "{}'s body blocks its thread", name(of)),
            Self::Return(of, true) => write!(f, "{}'s body returns Ok", name(of)),
            Self::Return(of, false) => write!(f, "{}'s body ends with an error", name(of)),
            Self::Resign(of) => write!(f, "{} resigns", name(of)),
            Self::Watch(of, Due::Tell(Reason::Lost)) => {
                write!(f, "{} is told: lost", name(of))
            }
            Self::Watch(of, Due::Tell(Reason::Validity)) => {
                write!(f, "{} is told: validity", name(of))
            }
            Self::Watch(of, Due::Tell(Reason::Progress)) => {
                write!(f, "{} is told: no progress", name(of))
            }
            Self::Watch(of, Due::Tell(_)) => write!(f, "{} is told: drain", name(of)),
            Self::Watch(of, Due::Overrun) => write!(f, "{}'s body is an overrun", name(of)),
            Self::Watch(of, Due::GiveUp) => write!(f, "{} gives the lock up", name(of)),
            Self::Renew(of, true) => write!(f, "{} renews", name(of)),
            Self::Renew(of, false) => write!(f, "{} renews, the answer is lost", name(of)),
            Self::Release(of) => write!(f, "{} releases", name(of)),
            Self::Leave(of) => write!(f, "{}'s term ends", name(of)),
            Self::Drain(of) => write!(f, "{} drains", name(of)),
            Self::Kill(of) => write!(f, "{} is killed", name(of)),
            Self::Suspend(of) => write!(f, "{} is suspended", name(of)),
            Self::Wake(of) => write!(f, "{} is woken", name(of)),
            Self::Cut(of) => write!(f, "{} is cut off", name(of)),
            Self::Heal(of) => write!(f, "{} reaches the store again", name(of)),
            Self::Restart => write!(f, "the store restarts without its data"),
            Self::Force => write!(f, "somebody breaks the lock"),
        }
    }
}
