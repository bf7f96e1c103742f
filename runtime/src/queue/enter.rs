//! A waiter enters or leaves the queue.

use std::sync::Arc;

use super::acquire::Acquire;
use super::hold::Hold;
use super::lock_queue::{LockQueue, Transition};
use super::ticket::{Attempting, Ticket, TicketState, Unlocked};
use super::waiter::{Patience, Waiter, Want};
use crate::clock::Instant;
use crate::error::LockError;
use crate::store::{Owner, Ticket as TicketId};
use crate::task::runs_a_task;

impl LockQueue {
    /// Enters the queue, or takes the lock at once; `None` if the name was retired.
    pub(crate) fn enter(self: &Arc<Self>, want: &Want) -> Option<Result<Acquire, LockError>> {
        let entered = self.step(|step| {
            // Checked again under the mutex. A shutdown first makes this check fail, and then locks this mutex. So either
            // the check fails now, or the shutdown finds the new waiter.
            self.member().check()?;
            if let Some(hold) = step.shared_by(want) {
                return Ok(Acquire::obtained(hold));
            }
            if self.member().is_draining() && !want.by.inside {
                return Err(LockError::ShutDown);
            }
            if step.would_block_itself(want) {
                return Err(LockError::waits_for_itself(self.name().as_str()));
            }
            let waiter = Waiter::new(want.clone(), step.now);
            if let Patience::Queue(_) = want.patience {
                step.note_deadline(waiter.deadline);
                step.note_blocked(&waiter);
                step.state.owners |= !want.share.owner.is_empty();
                step.state.waiters.push_back(waiter.clone());
            } else {
                step.attempt(waiter.clone(), None, 1);
            }
            Ok(Acquire::new(self.clone(), waiter))
        })?;
        Some(entered.map(Acquire::look))
    }

    /// The valid hold of `owner` in this process, if there is one.
    pub(crate) fn held_by(self: &Arc<Self>, owner: &Owner) -> Option<Arc<Hold>> {
        self.step(|step| step.held_by(owner).next().cloned())?
    }

    /// Takes over the hold `old` of another client; `None` if the name was retired.
    pub(crate) fn adopt(self: &Arc<Self>, old: TicketId, want: Want) -> Option<Acquire> {
        self.step(|step| {
            let waiter = Waiter::new(want, step.now);
            step.attempt(waiter.clone(), Some(old), 1);
            Acquire::new(self.clone(), waiter).once()
        })
    }

    /// Removes a waiter that gives up. If the waiter was already granted, releases its hold.
    pub(super) fn give_up(self: &Arc<Self>, waiter: &Arc<Waiter>) {
        if let Some(hold) = self.withdraw(waiter, |step, attempt| step.withdraw(attempt)) {
            self.give_back(&hold);
        }
    }

    /// Like [`give_up`](Self::give_up), for an attempt that does not wait. If anything must be released, returns a
    /// promise of the store's answer.
    pub(super) fn give_up_confirmed(self: &Arc<Self>, waiter: &Arc<Waiter>) -> Option<Unlocked> {
        let mut confirmed = None;
        let granted = self.withdraw(waiter, |step, attempt| {
            confirmed = step.withdraw_confirmed(attempt);
        });
        match granted {
            Some(hold) => Some(self.give_back_confirmed(&hold)),
            None => confirmed,
        }
    }

    /// Removes a waiter, and calls `attempted` with the index of its attempt, if it has one. If the waiter has a hold
    /// that must be released, returns the hold.
    fn withdraw(
        self: &Arc<Self>,
        waiter: &Arc<Waiter>,
        attempted: impl FnOnce(&mut Transition<'_>, usize),
    ) -> Option<Arc<Hold>> {
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
    /// Tries to take the lock if it is free, or to take over the hold `adopts`.
    pub(super) fn attempt(&mut self, waiter: Arc<Waiter>, adopts: Option<TicketId>, number: u32) {
        let lease = self.queue.lease_of(waiter.want.terms);
        let attempt = Attempting {
            waiter,
            adopts,
            number,
            trouble: None,
        };
        self.begin(lease, TicketState::Attempting(attempt));
    }

    pub(super) fn holds(&self) -> impl Iterator<Item = &Arc<Hold>> {
        let held = self.state.tickets.iter().filter_map(Ticket::held);
        held.map(|held| &held.hold)
    }

    /// Whether the caller would block the only thread that can release the lock.
    fn would_block_itself(&self, want: &Want) -> bool {
        let share = &want.share;
        let waits = want.patience.waits();
        if !want.by.blocking || !waits || want.by.home.is_none() || share.capacity == 0 {
            return false;
        }
        let mine = |home| home == want.by.home;
        let held = self.holds().filter(|hold| mine(hold.grant().home));
        let held: u64 = held.map(|hold| u64::from(hold.weight())).sum();
        let waiters = self.state.waiters.iter();
        let waiting = waiters.clone().filter(|waiter| mine(waiter.want.by.home));
        let waiting: u64 = waiting
            .map(|waiter| u64::from(waiter.want.share.units))
            .sum();
        let fits = |taken: u64, units| taken + u64::from(units) <= u64::from(share.capacity);
        // If a waiter without a deadline needs units that this thread holds, the caller would wait behind it for ever.
        let mut before = waiters.filter(|waiter| waiter.deadline == Instant::NEVER);
        let stuck = held > 0 && before.any(|waiter| !fits(held, waiter.want.share.units));
        let taken = held + waiting;
        (stuck || taken > 0 && !fits(taken, share.units)) && runs_a_task()
    }

    /// Adds a guard to a hold that the owner of `want` already has, if there is one.
    fn shared_by(&self, want: &Want) -> Option<Arc<Hold>> {
        let mut held = self.held_by(want.owner.as_ref()?);
        held.find(|hold| hold.share()).cloned()
    }

    fn held_by<'a>(&'a self, owner: &'a Owner) -> impl Iterator<Item = &'a Arc<Hold>> {
        self.holds()
            .filter(move |hold| hold.grant().owner() == Some(owner) && hold.is_valid())
    }

    /// Delivers `hold` to all waiters of the same owner here. The caller must have a guard of its own. Otherwise the
    /// last guard could be dropped before all waiters are served.
    pub(super) fn share_with_owner(&mut self, hold: &Arc<Hold>) {
        let Some(owner) = hold.grant().owner() else {
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
            // The attempt whose grant is `hold` stays.
            let other = ticket.id() != hold.grant().ticket;
            let attempt = ticket.attempting().filter(|_| other);
            match attempt.filter(|attempt| same(&attempt.waiter)) {
                Some(attempt) => {
                    others.push(attempt.waiter.clone());
                    self.withdraw(index);
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

    /// Notes that a waiter's `block` ends at `deadline`.
    fn note_deadline(&mut self, deadline: Instant) {
        let first = self.state.first_deadline.get_or_insert(deadline);
        *first = (*first).min(deadline);
    }

    /// Fails all waiters and attempts of this name.
    pub(super) fn fail_all(&mut self, error: &LockError) {
        self.fail(error, |_| true);
    }

    /// Fails the waiters and attempts of this name that `which` selects.
    pub(super) fn fail(&mut self, error: &LockError, which: impl Fn(&Want) -> bool) {
        for waiter in std::mem::take(&mut self.state.waiters) {
            match which(&waiter.want) {
                true => waiter.fail(error.clone(), self.wakes),
                false => self.state.waiters.push_back(waiter),
            }
        }
        let mut index = 0;
        while let Some(ticket) = self.state.tickets.get(index) {
            match ticket.attempting() {
                Some(attempt) if which(&attempt.waiter.want) => {
                    attempt.waiter.fail(error.clone(), self.wakes);
                    self.withdraw(index);
                }
                _ => index += 1,
            }
        }
    }
}
