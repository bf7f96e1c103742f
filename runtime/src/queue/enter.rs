//! A waiter comes or goes.

use std::sync::Arc;

use super::acquire::Acquire;
use super::hold::Hold;
use super::home::runs_a_task;
use super::lock_queue::{LockQueue, Transition};
use super::ticket::{Attempting, Ticket, TicketState, Unlocked};
use super::waiter::{Patience, Waiter, Want};
use crate::clock::Instant;
use crate::error::LockError;
use crate::store::{Owner, Ticket as TicketId};
use crate::wait::DeferredWakes;

impl LockQueue {
    /// Joins the queue; `None` if the name was retired.
    pub(crate) fn enter(self: &Arc<Self>, want: &Want) -> Option<Result<Acquire, LockError>> {
        let mut state = self.open()?;
        self.remember();
        let now = Instant::now();
        if let Some(hold) = self.take_lent(&mut state, want, now) {
            return Some(Ok(Acquire::obtained(hold)));
        }
        let entered = self.go_on(state, now, DeferredWakes::default(), |step| {
            // Once more under the lock: whoever shuts down comes here next, and finds everybody who entered.
            self.member().check()?;
            if let Some(hold) = step.shared_by(want) {
                return Ok(Acquire::obtained(hold));
            }
            if step.would_block_itself(want) {
                let name = self.name().to_string();
                return Err(LockError::Deadlock {
                    cycle: vec![name.clone(), name],
                });
            }
            let waiter = Waiter::new(want.clone(), step.now);
            if let Patience::Queue(_) = want.patience {
                step.note_deadline(waiter.deadline);
                step.state.owners |= !want.share.owner.is_empty();
                step.state.waiters.push_back(waiter.clone());
            } else {
                step.attempt(waiter.clone(), None, 1);
            }
            Ok(Acquire::new(self.clone(), waiter))
        });
        Some(entered.map(Acquire::look))
    }

    /// What `owner` holds here.
    pub(crate) fn held_by(self: &Arc<Self>, owner: &Owner) -> Option<Arc<Hold>> {
        self.step(|step| step.held_by(owner).next().cloned())?
    }

    /// Takes over what `old` holds for another member; `None` if the name was retired.
    pub(crate) fn adopt(self: &Arc<Self>, old: TicketId, want: Want) -> Option<Acquire> {
        self.step(|step| {
            let waiter = Waiter::new(want, step.now);
            step.attempt(waiter.clone(), Some(old), 1);
            Acquire::new(self.clone(), waiter).once()
        })
    }

    /// The waiter is not interested any more: it leaves, and what it was granted meanwhile is given back.
    pub(super) fn give_up(self: &Arc<Self>, waiter: &Arc<Waiter>) {
        if let Some(hold) = self.withdraw(waiter, |step, attempt| step.drop_attempt(attempt)) {
            self.give_back(&hold);
        }
    }

    /// As [`give_up`](Self::give_up), for an attempt that does not wait; with a promise to wait on if there is anything
    /// to give back.
    pub(super) fn give_up_confirmed(self: &Arc<Self>, waiter: &Arc<Waiter>) -> Option<Unlocked> {
        let mut confirmed = None;
        let granted = self.withdraw(waiter, |step, attempt| {
            confirmed = step.give_up_attempt(attempt);
        });
        match granted {
            Some(hold) => Some(self.give_back_confirmed(&hold)),
            None => confirmed,
        }
    }

    /// Takes a waiter out, and its attempt with `attempted`. Returns what it was granted, if that is to be released.
    fn withdraw(
        self: &Arc<Self>,
        waiter: &Arc<Waiter>,
        attempted: impl FnOnce(&mut Transition<'_>, usize),
    ) -> Option<Arc<Hold>> {
        if self.member().is_forked() {
            return None;
        }
        let mut granted = None;
        self.step(|step| {
            granted = waiter.promise.close(step.wakes);
            if let Some(index) = step.state.find_waiter(waiter) {
                step.state.waiters.remove(index);
            }
            let mut tickets = step.state.tickets.iter();
            if let Some(index) = tickets.position(|ticket| ticket.is_attempt_of(waiter)) {
                attempted(step, index);
            }
        });
        granted?.ok().filter(|hold| hold.unshare())
    }
}

impl Transition<'_> {
    /// An attempt for what is free now, or to take over what `adopts` holds.
    pub(super) fn attempt(&mut self, waiter: Arc<Waiter>, adopts: Option<TicketId>, number: u32) {
        let lease = self.lease_for(&waiter.want);
        let attempt = Attempting {
            waiter,
            adopts,
            number,
            resting: false,
            trouble: None,
        };
        self.begin(lease, TicketState::Attempting(attempt));
    }

    fn holds(&self) -> impl Iterator<Item = &Arc<Hold>> {
        let held = self.state.tickets.iter().filter_map(Ticket::held);
        held.map(|held| &held.hold)
    }

    /// Whether the caller would block the only thread that can bring the lock back.
    fn would_block_itself(&self, want: &Want) -> bool {
        let share = &want.share;
        let waits = !matches!(want.patience, Patience::Once { .. });
        if !want.blocking || !waits || want.home.is_none() || share.capacity == 0 {
            return false;
        }
        let mine = |home| home == want.home;
        let held = self.holds().filter(|hold| mine(hold.grant().home));
        let held: u64 = held.map(|hold| u64::from(hold.weight())).sum();
        let waiters = self.state.waiters.iter();
        let waiting = waiters.clone().filter(|waiter| mine(waiter.want.home));
        let waiting: u64 = waiting
            .map(|waiter| u64::from(waiter.want.share.units))
            .sum();
        let fits = |taken: u64, units| taken + u64::from(units) <= u64::from(share.capacity);
        // Whoever waits before the caller, for as long as it takes, for what this thread holds.
        let mut before = waiters.filter(|waiter| waiter.deadline == Instant::NEVER);
        let stuck = held > 0 && before.any(|waiter| !fits(held, waiter.want.share.units));
        let taken = held + waiting;
        (stuck || taken > 0 && !fits(taken, share.units)) && runs_a_task()
    }

    /// One more guard of what the owner has already, if there is one.
    fn shared_by(&self, want: &Want) -> Option<Arc<Hold>> {
        let mut held = self.held_by(want.owner.as_ref()?);
        held.find(|hold| hold.share()).cloned()
    }

    fn held_by<'a>(&'a self, owner: &'a Owner) -> impl Iterator<Item = &'a Arc<Hold>> {
        self.holds()
            .filter(move |hold| hold.grant().owner.as_ref() == Some(owner) && hold.is_valid())
    }

    /// Whoever waits here with the same owner has it too. The caller has a guard of it that nobody else can drop: or
    /// the last one might go before all are served.
    pub(super) fn share_with_owner(&mut self, hold: &Arc<Hold>) {
        let Some(owner) = &hold.grant().owner else {
            return;
        };
        let same = |waiter: &Arc<Waiter>| waiter.want.owner.as_ref() == Some(owner);
        let mut others: Vec<_> = Vec::new();
        self.state.waiters.retain(|waiter| {
            let same = same(waiter);
            others.extend(same.then(|| waiter.clone()));
            !same
        });
        let mut index = 0;
        while let Some(ticket) = self.state.tickets.get(index) {
            // (The attempt that was granted is not given up.)
            let other = ticket.id() != hold.grant().ticket;
            let attempt = ticket.attempting().filter(|_| other);
            match attempt.filter(|attempt| same(&attempt.waiter)) {
                Some(attempt) => {
                    others.push(attempt.waiter.clone());
                    self.drop_attempt(index);
                }
                None => index += 1,
            }
        }
        for waiter in others {
            if hold.share() && !waiter.obtain(hold.clone(), self.wakes) {
                hold.unshare();
            }
        }
    }

    /// A waiter will have waited enough at `deadline`.
    fn note_deadline(&mut self, deadline: Instant) {
        let first = self.state.first_deadline.get_or_insert(deadline);
        *first = (*first).min(deadline);
    }

    /// Nobody who waits or tries here will get anything.
    pub(super) fn fail_all(&mut self, error: &LockError) {
        for waiter in std::mem::take(&mut self.state.waiters) {
            waiter.fail(error.clone(), self.wakes);
        }
        let mut index = 0;
        while let Some(ticket) = self.state.tickets.get(index) {
            match ticket.attempting() {
                Some(attempt) => {
                    attempt.waiter.fail(error.clone(), self.wakes);
                    self.drop_attempt(index);
                }
                None => index += 1,
            }
        }
    }
}
