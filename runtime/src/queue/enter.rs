//! A waiter comes or goes; the one ticket in the store follows the first waiter.

use std::sync::Arc;
use std::time::Duration;

use super::local::{Local, Step};
use super::ticket::{Ask, Attempt, Held, Sendings};
use super::waiter::{Acquire, Patience, Waiter, Want, runs_a_task};
use crate::clock::Instant;
use crate::error::LockError;
use crate::lease::{Grant, Hold};
use crate::store::{Mode, Op, Ticket};

/// How long a grant by message may stay unclaimed by us: most bodies are over by then, and then
/// the release says it all. The store waits two seconds.
const CLAIM_WITHIN: Duration = Duration::from_millis(20);

/// What the store said when it granted.
pub(super) struct Granted {
    /// The fencing time.
    pub(super) token: u64,
    /// The last request of the ticket that the store had executed.
    pub(super) counter: u64,
    /// Until when it can be shown to be valid.
    pub(super) valid: Instant,
    /// By message, to be claimed.
    pub(super) provisional: bool,
}

impl Local {
    /// Joins the queue; `None` if the name was retired.
    pub(crate) fn enter(self: &Arc<Self>, want: Want) -> Option<Result<Acquire, LockError>> {
        self.step(|step| {
            // Once more under the lock: whoever shuts down comes here next, and finds everybody who entered.
            self.member().check()?;
            if step.would_block_itself(&want) {
                let name = self.name().to_string();
                return Err(LockError::Deadlock {
                    cycle: vec![name.clone(), name],
                });
            }
            let waiter = Waiter::new(want, step.now);
            match waiter.want.patience {
                Patience::Queue(block) if block != Some(Duration::ZERO) => {
                    step.note_deadline(waiter.deadline);
                    step.state.waiters.push_back(waiter.clone());
                }
                _ => step.attempt(waiter.clone(), None, 1),
            }
            Ok(Acquire::new(self.clone(), waiter))
        })
    }

    /// Takes over what `old` holds for another member; `None` if the name was retired.
    pub(crate) fn adopt(self: &Arc<Self>, old: Ticket, want: Want) -> Option<Acquire> {
        self.step(|step| {
            let waiter = Waiter::new(want, step.now);
            step.attempt(waiter.clone(), Some(old), 1);
            Acquire::new(self.clone(), waiter)
        })
    }

    /// The waiter is not interested any more: it leaves, and what it was granted meanwhile is given back.
    pub(super) fn give_up(self: &Arc<Self>, waiter: &Arc<Waiter>) {
        if self.member().is_forked() {
            return;
        }
        let mut granted = None;
        self.step(|step| {
            granted = waiter.promise.close(step.wakes);
            step.state
                .waiters
                .retain(|other| !Arc::ptr_eq(other, waiter));
            let attempts = &mut step.state.attempts;
            if let Some(index) = attempts
                .iter()
                .position(|try_| Arc::ptr_eq(&try_.waiter, waiter))
            {
                let attempt = attempts.swap_remove(index);
                if attempt.next.is_none() {
                    step.withdraw(&attempt.sendings);
                }
            }
        });
        if let Some(Ok(hold)) = granted {
            self.release(&hold);
        }
    }

    /// The client shuts down: nobody is granted anything any more, and what is held is released.
    pub(crate) fn close(self: &Arc<Self>) {
        self.step(|step| {
            step.fail_all(&LockError::ShutDown);
            while let Some(held) = step.state.held.pop() {
                let park = if held.hold.is_valid() {
                    held.hold.park(step.now)
                } else {
                    Duration::ZERO
                };
                step.lose_but_keep(held, park);
            }
        });
    }

    /// The engine is gone: whoever still waits for an answer gets none.
    pub(crate) fn abandon(self: &Arc<Self>) {
        self.close();
        self.step(|step| {
            for leaving in std::mem::take(&mut step.state.leaving) {
                if let Some((_, unlocker)) = leaving.unlocker {
                    let _ = unlocker.complete(Err(LockError::ShutDown), step.wakes);
                }
            }
            for query in std::mem::take(&mut step.state.queries) {
                let _ = query.promise.complete(Err(LockError::ShutDown), step.wakes);
            }
            step.state.retired = true;
        });
    }
}

impl Step<'_> {
    /// Whether the caller would block the only thread that can bring the lock back.
    fn would_block_itself(&self, want: &Want) -> bool {
        let waits = want.patience != Patience::Queue(Some(Duration::ZERO));
        want.blocking
            && waits
            && want.home.is_some()
            && (self
                .state
                .held
                .iter()
                .any(|held| held.hold.grant().home == want.home)
                || self
                    .state
                    .waiters
                    .iter()
                    .any(|waiter| waiter.want.home == want.home))
            && runs_a_task()
    }

    /// A waiter will have waited enough at `deadline`.
    fn note_deadline(&mut self, deadline: Instant) {
        let first = self.state.first_deadline.get_or_insert(deadline);
        *first = (*first).min(deadline);
    }

    fn lease_for(&self, want: &Want) -> Duration {
        let lease = self.local.lease();
        want.terms.expire.map_or(lease, |expire| expire.min(lease))
    }

    /// Sends an attempt that does not wait in the store.
    pub(super) fn attempt(&mut self, waiter: Arc<Waiter>, adopts: Option<Ticket>, number: u32) {
        let mut attempt = Attempt {
            sendings: Sendings::new(self.now),
            hold: self.lease_for(&waiter.want),
            waiter,
            adopts,
            number,
            next: None,
            again: Instant::NEVER,
            holder: None,
        };
        self.send_attempt(&mut attempt);
        self.state.attempts.push(attempt);
    }

    /// Sends it, or sends it again.
    pub(super) fn send_attempt(&mut self, attempt: &mut Attempt) {
        let want = &attempt.waiter.want;
        let (ticket, counter) = (attempt.sendings.ticket, attempt.sendings.next(self.now));
        let (hold, place) = (attempt.hold, self.local.lease());
        let op = match attempt.adopts {
            Some(old) => Op::Adopt {
                old,
                ticket,
                counter,
                hold,
                place,
                meta: want.meta.clone(),
            },
            None => Op::Acquire {
                ticket,
                counter,
                units: want.units,
                capacity: want.capacity,
                hold,
                place,
                mode: Mode::Try,
                meta: want.meta.clone(),
            },
        };
        self.submit(op);
    }

    /// Sees to it that a ticket waits in the store exactly while somebody waits here, for what the first wants.
    pub(super) fn match_ask(&mut self) {
        let first = self.state.waiters.front().cloned();
        if let Some(ask) = &self.state.ask {
            let fits = first.as_ref().is_some_and(|waiter| {
                (waiter.want.units, waiter.want.capacity) == (ask.units, ask.capacity)
            });
            if fits {
                return;
            }
            if let Some(ask) = self.state.ask.take() {
                self.withdraw(&ask.sendings);
            }
        }
        if let Some(waiter) = first {
            let mut ask = Ask {
                sendings: Sendings::new(self.now),
                units: waiter.want.units,
                capacity: waiter.want.capacity,
                hold: self.lease_for(&waiter.want),
                again: Instant::NEVER,
                queued: false,
                holder: None,
                stale: 0,
                trouble: None,
            };
            self.send_ask(&mut ask, &waiter);
            self.state.ask = Some(ask);
        }
    }

    /// Asks for the first time, or asks again: a copy does no harm.
    pub(super) fn send_ask(&mut self, ask: &mut Ask, first: &Waiter) {
        let op = Op::Acquire {
            ticket: ask.sendings.ticket,
            counter: ask.sendings.next(self.now),
            units: ask.units,
            capacity: ask.capacity,
            hold: ask.hold,
            place: self.local.lease(),
            mode: Mode::Queue,
            meta: first.want.meta.clone(),
        };
        ask.again = Instant::NEVER;
        self.submit(op);
    }

    /// Touches the waiting ticket.
    pub(super) fn touch_ask(&mut self, ask: &mut Ask) {
        let op = Op::Touch {
            ticket: ask.sendings.ticket,
            counter: ask.sendings.next(self.now),
            hold: ask.hold,
            place: self.local.lease(),
        };
        ask.again = Instant::NEVER;
        self.submit(op);
    }

    /// The waiting ticket was granted: the first waiter that still wants it gets it.
    pub(super) fn granted(&mut self, ask: Ask, granted: &Granted) {
        let Ask {
            mut sendings,
            hold: lease,
            ..
        } = ask;
        while let Some(waiter) = self.state.waiters.pop_front() {
            let attempts = sendings.count();
            match self.hand(&waiter, sendings, lease, granted, attempts) {
                Ok(()) => return,
                Err(unused) => sendings = unused,
            }
        }
        self.withdraw(&sendings);
    }

    /// Gives a granted ticket to `waiter`; it comes back if the waiter has gone.
    pub(super) fn hand(
        &mut self,
        waiter: &Arc<Waiter>,
        sendings: Sendings,
        lease: Duration,
        granted: &Granted,
        attempts: u32,
    ) -> Result<(), Sendings> {
        let grant = Grant {
            ticket: sendings.ticket,
            token: granted.token.saturating_mul(1024),
            valid: granted.valid,
            waited: waiter.started.until(self.now),
            attempts,
            home: waiter.want.home,
        };
        let hold = Hold::new(self.local.clone(), grant, waiter.want.terms, self.now);
        if waiter
            .promise
            .complete(Ok(hold.clone()), self.wakes)
            .is_err()
        {
            return Err(sendings);
        }
        // It may have been asked for by one before, who wanted to hold for less long.
        let cut = lease < self.lease_for(&waiter.want);
        let renew = if granted.provisional || cut {
            self.now
                .after(CLAIM_WITHIN.min(self.now.until(granted.valid) / 4))
        } else {
            self.next_beat()
        };
        self.state.held.push(Held {
            asked: (0, lease),
            sendings,
            hold,
            renew,
            granted: granted.counter,
            provisional: granted.provisional,
            refreshers: Vec::new(),
        });
        Ok(())
    }

    /// Nobody who waits or tries here will get anything.
    pub(super) fn fail_all(&mut self, error: &LockError) {
        for waiter in std::mem::take(&mut self.state.waiters) {
            let _ = waiter.promise.complete(Err(error.clone()), self.wakes);
        }
        for attempt in std::mem::take(&mut self.state.attempts) {
            let _ = attempt
                .waiter
                .promise
                .complete(Err(error.clone()), self.wakes);
            if attempt.next.is_none() {
                self.withdraw(&attempt.sendings);
            }
        }
    }
}
