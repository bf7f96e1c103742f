//! [`Hold`]: one grant, from its arrival to its release or loss.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use super::grant::Grant;
use super::lock_queue::LockQueue;
use crate::clock::Instant;
use crate::error::{LockError, LossCause};
use crate::lease::{ListenerKey, Listeners, Terms};
use crate::name::Name;
use crate::observe::{CallerPlace, HOLD};
use crate::observer::{Metric, SharedObserver};
use crate::order::Taken;
use crate::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use crate::task::TaskId;
use crate::wait::DeferredWakes;

const HELD: u8 = 0;
const RELEASED: u8 = 1;
/// Lost, for the cause with number 0. The state `LOST + n` means: lost, for the cause with number `n`.
const LOST: u8 = 2;

/// The hold was not reported to the observer.
const UNSEEN: u8 = 0;
/// The observer counts the hold as active.
const ACTIVE: u8 = 1;
/// The end was reported to the observer, or the hold ended before a caller had it.
const OVER: u8 = 2;

/// One grant of a name to this process.
///
/// The guards share the hold with the queue of its name, which renews its lease.
pub(crate) struct Hold {
    queue: Arc<LockQueue>,
    terms: Terms,
    grant: Grant,
    since: Instant,
    /// Until when the lease is valid, by the local clock.
    valid: AtomicU64,
    /// Until when the holder may hold.
    expires: AtomicU64,
    /// Until when the store keeps the ticket, even if the hold is released earlier.
    kept: AtomicU64,
    state: AtomicU8,
    units: AtomicU32,
    /// The number of guards that share this hold.
    guards: AtomicU32,
    /// The last report to the observer: `UNSEEN`, `ACTIVE` or `OVER`.
    seen: AtomicU8,
    listeners: Listeners,
    /// The task that took the lock by hand, through a handle.
    taken: OnceLock<TaskId>,
}

impl Hold {
    // Inlined, so that the compiler makes `grant` in its final place instead of copying it there.
    #[inline(always)]
    pub(crate) fn new(
        queue: Arc<LockQueue>,
        grant: Grant,
        terms: Terms,
        now: Instant,
    ) -> Arc<Self> {
        let expires = terms
            .expire
            .map_or(Instant::NEVER, |expire| now.after(expire));
        Arc::new(Self {
            queue,
            terms,
            since: now,
            valid: AtomicU64::new(grant.valid.as_nanos()),
            units: AtomicU32::new(grant.units),
            grant,
            expires: AtomicU64::new(expires.as_nanos()),
            kept: AtomicU64::new(now.after(terms.at_least).as_nanos()),
            state: AtomicU8::new(HELD),
            guards: AtomicU32::new(1),
            seen: AtomicU8::new(UNSEEN),
            listeners: Listeners::default(),
            taken: OnceLock::new(),
        })
    }

    pub(crate) fn name(&self) -> &Name {
        self.queue.name()
    }

    #[inline]
    fn observer(&self) -> Option<&SharedObserver> {
        self.queue.member().observer()
    }

    /// Reports to the observer that a caller has the hold now, so that the hold counts as active. Call this while no
    /// mutex is locked.
    #[inline]
    pub(crate) fn begin(&self) {
        if let Some(observer) = self.observer() {
            self.begun(observer);
        }
    }

    #[cold]
    fn begun(&self, observer: &SharedObserver) {
        if self
            .seen
            .compare_exchange(UNSEEN, ACTIVE, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
        {
            observer.add(Metric::Active, &self.grant.labels().pairs(), 1);
        }
    }

    /// Reports the end of the hold to the observer, once. Call this while no mutex is locked.
    #[inline]
    pub(crate) fn finish(&self) {
        if let Some(observer) = self.observer()
            && let Some(tell) = self.report_of_end(observer)
        {
            tell();
        }
    }

    /// Like [`finish`](Self::finish), but reports the end later, when no mutex is locked.
    fn finish_later(&self, wakes: &mut DeferredWakes) {
        if let Some(observer) = self.observer()
            && let Some(tell) = self.report_of_end(observer)
        {
            wakes.observe(tell);
        }
    }

    /// Returns the report of the end; `None` if the hold has not ended, was never active for the observer, or its end was
    /// already reported.
    #[cold]
    fn report_of_end(&self, observer: &SharedObserver) -> Option<impl FnOnce() + Send + 'static> {
        let state = self.state.load(Ordering::SeqCst);
        if state == HELD || self.seen.swap(OVER, Ordering::AcqRel) != ACTIVE {
            return None;
        }
        let (observer, labels, held) = (observer.clone(), self.grant.labels(), self.held());
        let lost = state.checked_sub(LOST).and_then(LossCause::from_number);
        Some(move || {
            observer.add(Metric::Active, &labels.pairs(), -1);
            observer.record(Metric::HoldDuration, &labels.pairs(), held);
            if let Some(cause) = lost {
                observer.add(Metric::Lost, &labels.lost(cause), 1);
            }
        })
    }

    pub(crate) fn local(&self) -> &Arc<LockQueue> {
        &self.queue
    }

    /// The id of the client that the hold belongs to.
    /// The hold, as the lock order sees it.
    #[inline]
    pub(crate) fn in_order(&self) -> Taken<'_> {
        let grant = self.grant();
        Taken {
            client: self.client_id(),
            name: self.name(),
            label: grant.label,
            meta: &grant.meta,
        }
    }

    pub(crate) fn client_id(&self) -> u64 {
        self.queue.member().id()
    }

    /// Records the task that took the lock by hand, if it can be known. Later calls have no effect.
    pub(crate) fn taken_by(&self, task: Option<TaskId>) {
        if let Some(task) = task {
            let _ = self.taken.set(task);
        }
    }

    /// The task that took the lock by hand, if known. Its guard may be with another task by now.
    pub(crate) fn taken(&self) -> Option<TaskId> {
        self.taken.get().copied()
    }

    /// The time limits that the holder asked for.
    pub(crate) fn terms(&self) -> Terms {
        self.terms
    }

    pub(crate) fn grant(&self) -> &Grant {
        &self.grant
    }

    /// The units that the hold has now.
    pub(crate) fn units(&self) -> u32 {
        self.units.load(Ordering::Acquire)
    }

    /// Gives back all units but `units`.
    pub(crate) fn downgrade(&self, units: u32) {
        self.units.fetch_min(units, Ordering::AcqRel);
    }

    /// The remaining units, if some were given back.
    pub(crate) fn given_back(&self) -> Option<u32> {
        Some(self.units()).filter(|units| *units < self.grant.units)
    }

    /// The units of the capacity that the hold uses: none if it was granted a signal.
    pub(crate) fn weight(&self) -> u32 {
        match self.grant.signal() {
            Some(_) => 0,
            None => self.units(),
        }
    }

    /// When the hold ends by the local clock if nothing renews it.
    pub(crate) fn deadline(&self) -> Instant {
        self.valid().min(self.expires())
    }

    pub(crate) fn valid(&self) -> Instant {
        Instant::from_nanos(self.valid.load(Ordering::Acquire))
    }

    pub(crate) fn expires(&self) -> Instant {
        Instant::from_nanos(self.expires.load(Ordering::Acquire))
    }

    /// The time that is left until `expire` ends the hold.
    pub(crate) fn expires_in(&self, now: Instant) -> Duration {
        now.until(self.expires())
    }

    /// Makes the store keep the ticket for `at_least` from now, unless it already keeps the ticket for longer.
    pub(crate) fn keep(&self, at_least: Duration, now: Instant) {
        let kept = now.after(at_least).as_nanos();
        self.kept.fetch_max(kept, Ordering::AcqRel);
    }

    /// Restarts `expire` now.
    pub(crate) fn restart(&self, expire: Option<Duration>, now: Instant) {
        let expires = expire.map_or(Instant::NEVER, |expire| now.after(expire));
        self.expires.store(expires.as_nanos(), Ordering::Release);
    }

    /// Notes that the store has renewed the lease until `valid`. A hold that is lost stays lost.
    pub(crate) fn renewed(&self, valid: Instant) {
        self.valid.fetch_max(valid.as_nanos(), Ordering::AcqRel);
    }

    /// How much longer the store should keep the ticket after a release now.
    pub(crate) fn park(&self, now: Instant) -> Duration {
        now.until(Instant::from_nanos(self.kept.load(Ordering::Acquire)))
    }

    /// Whether another client may hold the lock by now. Once this is true, it stays true.
    pub(crate) fn is_lost(&self) -> bool {
        self.is_lost_at(Instant::now())
    }

    fn is_lost_at(&self, now: Instant) -> bool {
        // The child of a fork has only a copy: the parent keeps the hold.
        if self.queue.member().is_forked() {
            return true;
        }
        match self.state.load(Ordering::SeqCst) {
            // The engine checks this deadline too, and wakes the listeners.
            HELD if now >= self.deadline() => self.mark_lost(self.cause_of_end()),
            state => state >= LOST,
        }
    }

    /// Why the hold ends by the local clock. A lease that was requested only up to `expire` ends a little before
    /// `expire`, because the allowance for drift shortens it.
    fn cause_of_end(&self) -> LossCause {
        let (valid, expires) = (self.valid(), self.expires());
        let granted = self.terms.expire.map(|expire| self.since.after(expire));
        let whole = self.grant.whole && valid == self.grant.valid && granted == Some(expires);
        match whole || expires <= valid.after(self.queue.shortening()) {
            true => LossCause::Expired,
            false => LossCause::NotRenewed,
        }
    }

    pub(crate) fn is_released(&self) -> bool {
        self.state.load(Ordering::SeqCst) == RELEASED
    }

    /// Whether the lock is still held, by the local clock: neither lost nor released.
    pub(crate) fn is_valid(&self) -> bool {
        !self.is_lost() && self.state.load(Ordering::SeqCst) == HELD
    }

    /// Marks the hold as lost, unless it was released, and wakes its listeners.
    pub(crate) fn lose(&self, cause: LossCause, wakes: &mut DeferredWakes) {
        // Marked before the listeners are taken, so a listener that registers between these two steps sees the mark.
        let lost = self.mark_lost(cause);
        self.listeners.wake(wakes);
        if lost {
            let (name, held, cause) = (self.name().clone(), self.held(), self.cause());
            let (meta, token) = (self.grant.meta.clone(), self.grant.token);
            wakes.report(move || {
                let holder = CallerPlace(&meta);
                tracing::warn!(target: HOLD, %name, ?held, %cause, %holder, token, "lock lost");
            });
        }
        self.finish_later(wakes);
    }

    /// Wakes the listeners although the hold has not ended: a bound has ended, and they must check it.
    pub(crate) fn wake(&self, wakes: &mut DeferredWakes) {
        self.listeners.wake(wakes);
    }

    fn mark_lost(&self, cause: LossCause) -> bool {
        let lost = LOST + cause.number();
        match self
            .state
            .compare_exchange(HELD, lost, Ordering::SeqCst, Ordering::SeqCst)
        {
            Ok(_) => true,
            Err(state) => state >= LOST,
        }
    }

    /// The cause of the end of the hold.
    fn cause(&self) -> LossCause {
        if self.queue.member().is_forked() {
            return LossCause::Forked;
        }
        let state = self.state.load(Ordering::SeqCst);
        let lost = state.checked_sub(LOST).and_then(LossCause::from_number);
        lost.unwrap_or(LossCause::Released)
    }

    /// Marks the hold as released. Returns `false` if it was already lost or released. Guards that still exist see the
    /// mark.
    #[inline]
    pub(crate) fn end(&self, now: Instant, wakes: &mut DeferredWakes) -> bool {
        let ended = !self.is_lost_at(now)
            && self
                .state
                .compare_exchange(HELD, RELEASED, Ordering::SeqCst, Ordering::SeqCst)
                .is_ok();
        self.listeners.wake(wakes);
        ended
    }

    /// Ready once the hold is lost; a released hold is never lost.
    pub(crate) fn poll_lost(&self, cx: &mut Context<'_>, by: ListenerKey) -> Poll<()> {
        self.poll_until(cx, by, Self::is_lost)
    }

    /// Completes once the hold is lost or released.
    pub(crate) fn ended(&self) -> Ended<'_> {
        static KEYS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        Ended {
            hold: self,
            key: ListenerKey::Numbered(KEYS.fetch_add(1, Ordering::Relaxed)),
        }
    }

    fn poll_until(
        &self,
        cx: &mut Context<'_>,
        key: ListenerKey,
        over: impl Fn(&Self) -> bool,
    ) -> Poll<()> {
        if over(self) {
            return Poll::Ready(());
        }
        self.listeners.register(cx, key);
        // Checked again, because the hold may have ended between the first check and the registration.
        if over(self) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }

    pub(crate) fn since(&self) -> Instant {
        self.since
    }

    pub(crate) fn held(&self) -> Duration {
        self.since.until(Instant::now())
    }

    pub(crate) fn lost_error(&self) -> LockError {
        self.lost_by(self.cause())
    }

    fn lost_by(&self, cause: LossCause) -> LockError {
        LockError::Lost {
            name: self.name().to_string(),
            held: self.held(),
            cause,
        }
    }

    /// The error of an unlock when the store answers that the lock was lost before the release. The hold itself may
    /// already be marked as released.
    pub(crate) fn unlock_error(&self) -> LockError {
        self.lost_by(match self.cause() {
            // The lease may have ended while the release was in flight.
            LossCause::Released if Instant::now() >= self.deadline() => self.cause_of_end(),
            LossCause::Released => LossCause::Forgotten,
            cause => cause,
        })
    }

    /// Adds a guard; `false` if the last guard was already dropped, because that releases the hold.
    pub(crate) fn share(&self) -> bool {
        self.guards
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |guards| {
                (guards > 0).then(|| guards + 1)
            })
            .is_ok()
    }

    /// Whether more than one guard uses the hold.
    pub(crate) fn is_shared(&self) -> bool {
        self.guards.load(Ordering::Acquire) > 1
    }

    /// Removes a guard; `true` if it was the last one.
    pub(crate) fn unshare(&self) -> bool {
        self.guards.fetch_sub(1, Ordering::AcqRel) == 1
    }
}

/// The future of [`Hold::ended`]. Removes its waker when dropped, because a hold may last for days and have many
/// listeners.
#[must_use = "futures do nothing unless polled"]
pub(crate) struct Ended<'a> {
    hold: &'a Hold,
    key: ListenerKey,
}

impl Future for Ended<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let over = |hold: &Hold| !hold.is_valid();
        self.hold.poll_until(cx, self.key, over)
    }
}

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.hold.listeners.remove(self.key);
    }
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
