//! [`Hold`]: a grant as its guards see it, without the mutex of its name. The rules have their own view of it: what a
//! guard changes here is told to them before the next transition.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use auto_mutex_protocol::client::{CallId, Ended, Grant, Input, cause_of_end};

use super::lock_queue::LockQueue;
use super::waiter::{Requester, Waiter, Want};
use super::warnings::Warned;
use super::witness::Witnessed;
use crate::base::clock::{self, Instant};
use crate::base::duration::rounded;
use crate::base::error::{LockError, LossCause};
use crate::base::name::Name;
use crate::base::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use crate::base::task::TaskId;
use crate::base::wait::DeferredWakes;
use crate::lease::Listeners;
use crate::observe::{CallerLocation, HOLD, LockLabels};
use crate::observer::Metric;
use crate::order::Taken;
use crate::store::Ticket as TicketId;

const HELD: u8 = 0;
const RELEASED: u8 = 1;
/// `LOST + n` is a hold lost for the cause with number `n`.
const LOST: u8 = 2;

const UNSEEN: u8 = 0;
const ACTIVE: u8 = 1;
const OVER: u8 = 2;

/// The complete name of a lock, its fencing token, the scheme of its store, and the ticket that holds it there.
pub(crate) type FencingToken = (String, u64, &'static str, TicketId);

/// One grant of a name to this process, shared by the guards and the queue of the name, which renews its lease.
pub(crate) struct Hold {
    pub(crate) queue: Arc<LockQueue>,
    /// The waiter whose request was granted. Once the caller has the hold, the waiter's promise no longer contains it.
    waiter: Arc<Waiter>,
    pub(crate) grant: Grant,
    pub(crate) since: Instant,
    /// The validity and the end of `expire` at the grant, if the lease lasts until then.
    whole: Option<(Instant, Instant)>,
    pub(super) warned: Warned,
    valid: AtomicU64,
    /// When the holder's `expire` ends.
    expires: AtomicU64,
    /// Until when the store keeps the ticket, even after a release.
    parked_until: AtomicU64,
    state: AtomicU8,
    units: AtomicU32,
    guards: AtomicU32,
    /// Whether guards have changed it since the rules were told.
    touched: AtomicBool,
    seen: AtomicU8,
    pub(super) listeners: Listeners,
    taken: OnceLock<TaskId>,
}

impl Hold {
    // Inlined to build `grant` in its final place without a copy.
    #[inline(always)]
    pub(crate) fn new(
        queue: Arc<LockQueue>,
        waiter: Arc<Waiter>,
        grant: Grant,
        now: Instant,
    ) -> Self {
        let want = &waiter.call.want;
        let (tenure, units) = (want.tenure, want.share.units);
        let expires = now.after_all(tenure.expire);
        let parked_until = now.after(tenure.at_least.unwrap_or_default());
        Self {
            queue,
            waiter,
            since: now,
            whole: grant.whole.then_some((grant.valid, expires)),
            warned: Warned::default(),
            valid: AtomicU64::new(grant.valid.as_nanos()),
            units: AtomicU32::new(units),
            grant,
            expires: AtomicU64::new(expires.as_nanos()),
            parked_until: AtomicU64::new(parked_until.as_nanos()),
            state: AtomicU8::new(HELD),
            guards: AtomicU32::new(1),
            touched: AtomicBool::new(false),
            seen: AtomicU8::new(UNSEEN),
            listeners: Listeners::default(),
            taken: OnceLock::new(),
        }
    }

    /// Becomes the next hold of the same name. Returns the memory of the last waiter.
    #[inline(always)]
    pub(super) fn again(&mut self, waiter: Arc<Waiter>, grant: Grant, now: Instant) -> Arc<Waiter> {
        let last = std::mem::replace(&mut self.waiter, waiter.clone());
        *self = Self::new(self.queue.clone(), waiter, grant, now);
        last
    }

    /// The number of its call.
    pub(super) fn call(&self) -> CallId {
        self.waiter.call.id
    }

    /// What the rules have to know of the guards, if they have changed the hold since the last time.
    pub(super) fn seen(&self) -> Option<Input<Arc<Waiter>>> {
        if !self.touched.swap(false, Ordering::SeqCst) {
            return None;
        }
        Some(Input::Seen {
            hold: self.call(),
            lost: self.lost_for(),
            expires: self.expires(),
            parked_until: Instant::from_nanos(self.parked_until.load(Ordering::Acquire)),
        })
    }

    /// Guards have changed the hold.
    fn touch(&self) {
        self.touched.store(true, Ordering::SeqCst);
        self.queue.touched.store(true, Ordering::SeqCst);
    }

    pub(crate) fn name(&self) -> &Name {
        &self.queue.name
    }

    /// Counts the hold as active once a caller has it. Call this and [`finish`](Self::finish) while no mutex is locked.
    #[inline]
    pub(crate) fn begin(&self) {
        if let Some(witness) = self.queue.core.witness() {
            witness.began(&Witnessed::of(self));
        }
        if let Some(observer) = self.queue.core.observer()
            && change(&self.seen, UNSEEN, ACTIVE)
        {
            observer.add(Metric::Active, &self.labels().pairs(), 1);
        }
    }

    #[inline]
    pub(crate) fn finish(&self) {
        let mut wakes = DeferredWakes::default();
        self.finish_later(&mut wakes);
        wakes.wake();
    }

    #[inline]
    fn finish_later(&self, wakes: &mut DeferredWakes) {
        if let Some(witness) = self.queue.core.witness()
            && self.state() != HELD
        {
            witness.ended(&Witnessed::of(self));
        }
        // A hold that ended before any caller had it was never active.
        if let Some(observer) = self.queue.core.observer()
            && self.state() != HELD
            && self.seen.swap(OVER, Ordering::AcqRel) == ACTIVE
        {
            let (observer, labels, held) = (observer.clone(), self.labels(), self.held());
            let lost = self.lost_for();
            wakes.observe(move || {
                observer.add(Metric::Active, &labels.pairs(), -1);
                observer.record(Metric::HoldDuration, &labels.pairs(), held);
                if let Some(cause) = lost {
                    observer.add(Metric::Lost, &labels.lost(cause), 1);
                }
            });
        }
    }

    /// What the lock order records of the hold.
    #[inline]
    pub(crate) fn in_order(&self) -> Taken<'_> {
        let want = self.want();
        Taken {
            client: self.client_id(),
            name: self.name(),
            label: self.by().label,
            meta: &want.meta,
        }
    }

    pub(crate) fn client_id(&self) -> u64 {
        self.queue.core.id()
    }

    pub(crate) fn taken_by(&self, task: Option<TaskId>) {
        if let Some(task) = task {
            let _ = self.taken.set(task);
        }
    }

    /// The task that took the lock by hand. Its guard may be with another task by now.
    pub(crate) fn taken(&self) -> Option<TaskId> {
        self.taken.get().copied()
    }

    /// The request that was granted.
    pub(crate) fn want(&self) -> &Want {
        &self.waiter.call.want
    }

    pub(crate) fn by(&self) -> &Requester {
        &self.waiter.by
    }

    pub(crate) fn labels(&self) -> LockLabels {
        LockLabels::of(self.by().label, &self.want().share)
    }

    pub(crate) fn waited(&self) -> Duration {
        self.waiter.call.waited(self.since)
    }

    pub(crate) fn units(&self) -> u32 {
        self.units.load(Ordering::Acquire)
    }

    /// Whether no other holder can have the lock at the same time.
    pub(crate) fn is_exclusive(&self) -> bool {
        self.units() > 0 && self.units() == self.want().share.capacity
    }

    pub(super) fn keep_units(&self, units: u32) {
        self.units.fetch_min(units, Ordering::AcqRel);
    }

    pub(crate) fn fencing_token(&self) -> FencingToken {
        let scheme = self.queue.core.settings().engine.scheme();
        let Grant { token, ticket, .. } = self.grant;
        (self.name().to_string(), token, scheme, ticket)
    }

    /// The units that the hold takes from the capacity: none if a signal was granted.
    pub(crate) fn weight(&self) -> u32 {
        match self.grant.signal {
            Some(_) => 0,
            None => self.units(),
        }
    }

    pub(crate) fn deadline(&self) -> Instant {
        self.valid().min(self.expires())
    }

    pub(crate) fn valid(&self) -> Instant {
        Instant::from_nanos(self.valid.load(Ordering::Acquire))
    }

    pub(crate) fn expires(&self) -> Instant {
        Instant::from_nanos(self.expires.load(Ordering::Acquire))
    }

    pub(crate) fn expires_in(&self, now: Instant) -> Duration {
        now.until(self.expires())
    }

    pub(crate) fn park_for(&self, at_least: Option<Duration>, now: Instant) {
        if let Some(at_least) = at_least {
            let until = now.after(at_least).as_nanos();
            self.parked_until.fetch_max(until, Ordering::AcqRel);
            self.touch();
        }
    }

    /// The next release frees it at once.
    pub(crate) fn end_at_least(&self) {
        self.parked_until.store(0, Ordering::Release);
        self.touch();
    }

    pub(super) fn expire_after(&self, expire: Option<Duration>, now: Instant) {
        let expires = now.after_all(expire);
        if self.expires.swap(expires.as_nanos(), Ordering::AcqRel) != expires.as_nanos() {
            self.touch();
        }
    }

    /// Extends or shortens the lease. A lost hold stays lost.
    pub(super) fn set_valid(&self, valid: Instant) {
        self.valid.store(valid.as_nanos(), Ordering::Release);
    }

    /// Whether another client may hold the lock by now. This never changes back to `false`.
    pub(crate) fn is_lost(&self) -> bool {
        let now = clock::now();
        // A forked child only has a copy; the parent keeps the hold.
        if self.queue.core.is_forked() {
            return true;
        }
        match self.state() {
            // The background thread checks this deadline too, and wakes the listeners.
            HELD if now >= self.deadline() => {
                let lost = self.mark_lost(self.cause_of_end());
                self.touch();
                lost
            }
            state => state >= LOST,
        }
    }

    fn state(&self) -> u8 {
        self.state.load(Ordering::SeqCst)
    }

    fn cause_of_end(&self) -> LossCause {
        let (valid, expires) = (self.valid(), self.expires());
        cause_of_end(valid, expires, self.whole, self.queue.core.times.lease)
    }

    pub(crate) fn is_released(&self) -> bool {
        self.state() == RELEASED
    }

    /// Whether it is neither lost nor released, by the local clock.
    pub(crate) fn is_valid(&self) -> bool {
        !self.is_lost() && self.state() == HELD
    }

    /// It has ended, by the rules. What has ended before keeps its cause.
    pub(super) fn ended(&self, how: Ended, asked: bool, wakes: &mut DeferredWakes) {
        // Marked before the listeners are taken, so that a listener registering in between sees the mark.
        let lost = match how {
            Ended::Released => !change(&self.state, HELD, RELEASED),
            Ended::Lost(cause) => {
                // If the lease has ended meanwhile, that is the cause.
                self.is_lost();
                self.mark_lost(cause)
            }
        };
        self.listeners.wake(wakes);
        if lost && !asked {
            let (name, held, cause) = (self.name().clone(), self.held(), self.cause());
            let (meta, token) = (self.want().meta.clone(), self.grant.token);
            wakes.report(move || {
                let holder = CallerLocation(&meta);
                tracing::warn!(target: HOLD, %name, held = ?rounded(held), %cause, %holder, token, "lock lost");
            });
        }
        self.finish_later(wakes);
    }

    fn mark_lost(&self, cause: LossCause) -> bool {
        change(&self.state, HELD, LOST + cause.number()) || self.state() >= LOST
    }

    /// Why it is lost, if it is.
    pub(crate) fn loss(&self) -> Option<LossCause> {
        self.is_lost().then(|| self.cause())
    }

    pub(crate) fn lost_for(&self) -> Option<LossCause> {
        let number = self.state().checked_sub(LOST);
        number.and_then(LossCause::from_number)
    }

    fn cause(&self) -> LossCause {
        match self.queue.core.is_forked() {
            true => LossCause::Forked,
            false => self.lost_for().unwrap_or(LossCause::Released),
        }
    }

    pub(crate) fn held(&self) -> Duration {
        self.since.until(clock::now())
    }

    pub(crate) fn lost_error(&self) -> LockError {
        self.lost_by(self.cause())
    }

    pub(super) fn lost_by(&self, cause: LossCause) -> LockError {
        LockError::lost_after(self.name().to_string(), self.held(), cause)
    }

    /// The error if the store answers that the lock was lost before the release. The hold may already be marked as
    /// released.
    pub(crate) fn unlock_error(&self) -> LockError {
        self.lost_by(match self.cause() {
            // The lease may have ended while the release was in flight.
            LossCause::Released if clock::now() >= self.deadline() => self.cause_of_end(),
            LossCause::Released => LossCause::Forgotten,
            cause => cause,
        })
    }

    /// Returns `false` if the last guard was already dropped, because that releases the hold.
    pub(crate) fn add_guard(&self) -> bool {
        let add = |guards| (guards > 0).then(|| guards + 1);
        let added = self
            .guards
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, add);
        added.is_ok()
    }

    pub(crate) fn has_other_guards(&self) -> bool {
        self.guards.load(Ordering::Acquire) > 1
    }

    /// Returns `true` for the last guard.
    pub(crate) fn remove_guard(&self) -> bool {
        self.guards.fetch_sub(1, Ordering::AcqRel) == 1
    }
}

#[inline]
fn change(state: &AtomicU8, from: u8, to: u8) -> bool {
    state
        .compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst)
        .is_ok()
}

impl fmt::Debug for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hold")
            .field("name", self.name())
            .field("token", &self.grant.token)
            .finish_non_exhaustive()
    }
}

#[cfg(repository)]
#[cfg(test)]
mod tests;
