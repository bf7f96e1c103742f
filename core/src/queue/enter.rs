//! A waiter enters or leaves the queue. Waits of tasks that hold other locks, and their holds, are known to searches for
//! deadlocks.

use std::sync::{Arc, Weak};

use super::acquire::Acquire;
use super::hold::Hold;
use super::lock_queue::{LockQueue, State, Transition};
use super::ticket::{Ticket, Unlocked};
use super::waiter::{Waiter, Want};
use crate::clock::Instant;
use crate::config::Deadlock;
use crate::deadlock::{HeldLock, Registered, Wait, WaitId, Waiting, WaitingHold};
use crate::error::LockError;
use crate::store::{Engine, Owner, Ticket as TicketId};
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
            if want.patience.queues() {
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

    /// Removes a waiter that gives up, and releases what it was granted. If the call is to be `confirmed`, and anything must
    /// be released, returns a promise of the store's answer.
    pub(super) fn give_up(
        self: &Arc<Self>,
        waiter: &Arc<Waiter>,
        confirmed: bool,
    ) -> Option<Unlocked> {
        let (granted, withdrawn) = self.step(|step| {
            let granted = waiter.promise.close(step.wakes);
            if let Some(index) = step.state.find_waiter(waiter) {
                step.state.waiters.remove(index);
            }
            let mut tickets = step.state.tickets.iter();
            let attempt = tickets.position(|ticket| ticket.is_attempt_of(waiter));
            let withdrawn = attempt.and_then(|index| step.withdraw_attempt(index, confirmed));
            (granted, withdrawn)
        })?;
        match granted.and_then(Result::ok).filter(|hold| hold.unshare()) {
            Some(hold) if confirmed => Some(self.give_back_confirmed(&hold)),
            Some(hold) => {
                self.give_back(&hold);
                None
            }
            None => withdrawn,
        }
    }
}

impl Transition<'_> {
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

    /// Notes that a waiter's `block` ends at `deadline`.
    fn note_deadline(&mut self, deadline: Instant) {
        let first = self.state.first_deadline.get_or_insert(deadline);
        *first = (*first).min(deadline);
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

/// A waiter whose task holds locks.
struct NestedWait {
    queue: Weak<LockQueue>,
    waiter: Weak<Waiter>,
    client: u64,
    mode: Deadlock,
}

impl LockQueue {
    /// Makes the wait of `waiter` known to searches for deadlocks, if its task holds locks.
    pub(super) fn note_nested(self: &Arc<Self>, waiter: &Arc<Waiter>) {
        let want = &waiter.want;
        let Some(holds) = &want.by.holds else {
            return;
        };
        let settings = self.member().settings();
        if !want.patience.queues() || settings.deadlock == Deadlock::Off {
            return;
        }
        let wait = NestedWait {
            queue: Arc::downgrade(self),
            waiter: Arc::downgrade(waiter),
            client: self.member().id(),
            mode: settings.deadlock,
        };
        let held = |hold: &Arc<Hold>| -> Arc<dyn HeldLock> { hold.clone() };
        let registered = Registered::new(Box::new(wait), holds.iter().map(held).collect());
        self.member().look_for_deadlock(registered.wait());
        let _ = waiter.nested.set(registered);
    }

    fn is_at(&self, engine: &dyn Engine) -> bool {
        self.member().settings().engine.is_same_store(engine)
    }

    /// Ends the wait of `waiter` with `error`, if it still waits.
    fn fail_waiter(self: &Arc<Self>, waiter: &Arc<Waiter>, error: LockError) {
        self.step(|step| {
            if let Some(index) = step.state.find_waiter(waiter) {
                step.state.waiters.remove(index);
                waiter.fail(error, step.wakes);
            }
        });
    }
}

impl State {
    /// The ticket that serves the waiter at `index`. If it has none, the last ticket that serves an earlier waiter.
    fn ticket_up_to(&self, index: usize) -> Option<TicketId> {
        let waiting = self
            .tickets
            .iter()
            .filter(|ticket| ticket.waiting().is_some());
        // Waiting tickets are in the order of their waiters.
        waiting.take(index + 1).last().map(Ticket::id)
    }
}

impl Waiting for NestedWait {
    fn client(&self) -> u64 {
        self.client
    }

    fn mode(&self) -> Deadlock {
        self.mode
    }

    fn is_at(&self, engine: &dyn Engine) -> bool {
        let queue = self.queue.upgrade();
        queue.is_some_and(|queue| queue.is_at(engine))
    }

    fn view(&self, id: WaitId) -> Option<Wait> {
        let (queue, waiter) = (self.queue.upgrade()?, self.waiter.upgrade()?);
        let state = queue.lock();
        let index = state.find_waiter(&waiter)?;
        Some(Wait {
            id,
            name: queue.name().clone(),
            units: waiter.want.share.units,
            after: state.ticket_up_to(index),
            waited: waiter.waited(Instant::now()),
            meta: waiter.want.meta.clone(),
            mode: self.mode,
        })
    }

    fn fail(&self, error: LockError) {
        if let (Some(queue), Some(waiter)) = (self.queue.upgrade(), self.waiter.upgrade()) {
            queue.fail_waiter(&waiter, error);
        }
    }
}

impl HeldLock for Hold {
    fn client(&self) -> u64 {
        self.client_id()
    }

    fn is_at(&self, engine: &dyn Engine) -> bool {
        self.local().is_at(engine)
    }

    fn ticket(&self) -> TicketId {
        self.grant().ticket
    }

    fn view(&self) -> Option<WaitingHold> {
        let grant = self.grant();
        self.is_valid().then(|| WaitingHold {
            ticket: grant.ticket,
            token: grant.token,
            units: self.weight(),
            held: self.held(),
            meta: grant.meta.clone(),
            waits: Vec::new(),
        })
    }
}
