//! [`Bounds`]: how long a nested call may use the holds of the call around it.

use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use crate::base::clock::{self, Instant};
use crate::base::error::LossCause;
use crate::base::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Marks a bound that a caller has found to be over.
const OVER: u64 = 0;

#[derive(Debug)]
pub(crate) struct Bound {
    since: Instant,
    expires: AtomicU64,
    /// Set if it did not end by `expire`.
    cause: OnceLock<LossCause>,
}

impl Bound {
    fn new(expire: Duration, now: Instant) -> Arc<Self> {
        let expires = AtomicU64::new(now.after(expire).as_nanos());
        let since = now;
        let cause = OnceLock::new();
        Arc::new(Self {
            since,
            expires,
            cause,
        })
    }

    /// A bound without an end of its own: see [`end`](Self::end).
    pub(crate) fn open(now: Instant) -> Arc<Self> {
        Self::new(Duration::MAX, now)
    }

    /// Ends the bound, unless it has ended before. Then wake the listeners of the hold.
    pub(crate) fn end(&self, cause: LossCause) -> bool {
        let first = self.cause.set(cause).is_ok();
        first && self.update(|expires| (expires != OVER).then_some(OVER))
    }

    pub(crate) fn cause(&self) -> LossCause {
        self.cause.get().copied().unwrap_or(LossCause::Expired)
    }

    pub(crate) fn expires(&self) -> Instant {
        Instant::from_nanos(self.expires.load(Ordering::Acquire))
    }

    /// Never changes back to `false`.
    pub(crate) fn is_over(&self, now: Instant) -> bool {
        self.update(|expires| (expires <= now.as_nanos()).then_some(OVER))
    }

    pub(crate) fn held(&self, now: Instant) -> Duration {
        self.since.until(now)
    }

    fn restart(&self, expire: Duration, now: Instant) {
        let new = now.after(expire).as_nanos();
        self.update(|expires| (expires > now.as_nanos()).then_some(new));
    }

    fn update(&self, change: impl FnMut(u64) -> Option<u64>) -> bool {
        let updated = self
            .expires
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, change);
        updated.is_ok()
    }
}

/// The bounds of a nested call and of those around it. It may use the lock until the first of them ends. Empty for
/// other calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bounds(Option<Arc<Limits>>);

#[derive(Debug)]
pub(crate) struct Limits {
    all: Vec<Arc<Bound>>,
    /// Whether the background thread is already watching them.
    watched: AtomicBool,
}

impl Bounds {
    fn of(all: Vec<Arc<Bound>>) -> Self {
        let watched = AtomicBool::new(false);
        Self((!all.is_empty()).then(|| Arc::new(Limits { all, watched })))
    }

    pub(crate) fn all(&self) -> &[Arc<Bound>] {
        self.0.as_ref().map_or(&[], |limits| &limits.all)
    }

    pub(crate) fn join(&self, others: &Self) -> Self {
        if self.0.is_none() || others.0.is_none() {
            return if self.0.is_some() { self } else { others }.clone();
        }
        let mut all = self.all().to_vec();
        for other in others.all() {
            if !all.iter().any(|known| Arc::ptr_eq(known, other)) {
                all.push(other.clone());
            }
        }
        Self::of(all)
    }

    pub(crate) fn and(&self, expire: Duration, now: Instant) -> Self {
        let own = Bound::new(expire, now);
        self.with(own)
    }

    pub(crate) fn with(&self, own: Arc<Bound>) -> Self {
        Self::of(self.all().iter().cloned().chain([own]).collect())
    }

    pub(crate) fn over(&self) -> Option<&Arc<Bound>> {
        // Most calls have no bounds, and need no clock.
        let limits = self.0.as_ref()?;
        let now = clock::now();
        limits.all.iter().find(|bound| bound.is_over(now))
    }

    pub(crate) fn expires(&self) -> Instant {
        let all = self.all().iter().map(|bound| bound.expires());
        all.min().unwrap_or(Instant::NEVER)
    }

    pub(crate) fn restart(&self, expire: Duration, now: Instant) {
        for bound in self.all() {
            bound.restart(expire, now);
        }
    }

    /// Returns `true` only the first time.
    pub(crate) fn start_watching(&self) -> bool {
        let limits = self.0.as_ref();
        limits.is_some_and(|limits| !limits.watched.swap(true, Ordering::AcqRel))
    }

    pub(crate) fn downgrade(&self) -> Weak<Limits> {
        self.0.as_ref().map(Arc::downgrade).unwrap_or_default()
    }

    /// Empty if the call of the bounds has ended.
    pub(crate) fn upgrade(weak: &Weak<Limits>) -> Self {
        Self(weak.upgrade())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn what_is_over_is_over_for_good() {
        let start = Instant::START.after(SECOND);
        let bound = Bound::new(SECOND, start);
        assert!(!bound.is_over(start));
        bound.restart(SECOND * 2, start);
        assert!(!bound.is_over(start.after(SECOND)));
        let end = start.after(SECOND * 2);
        assert!(bound.is_over(end));
        bound.restart(SECOND, start);
        assert!(bound.is_over(start));
        assert_eq!(bound.held(end), SECOND * 2);
    }

    #[test]
    fn a_bound_that_nobody_has_looked_at_is_not_revived() {
        let start = Instant::START.after(SECOND);
        let bound = Bound::new(SECOND, start);
        bound.restart(SECOND, start.after(SECOND));
        assert!(bound.is_over(start.after(SECOND)));
    }

    #[test]
    fn the_first_of_several_counts() {
        let now = Instant::START.after(SECOND);
        let none = Bounds::default();
        assert_eq!(none.expires(), Instant::NEVER);
        assert!(!none.start_watching());
        let outer = none.and(SECOND, now);
        let inner = outer.and(SECOND * 2, now);
        assert_eq!(inner.expires(), now.after(SECOND));
        let other = none.and(SECOND / 2, now);
        let both = inner.join(&other).join(&outer).join(&none);
        assert_eq!(both.all().len(), 3);
        assert_eq!(none.join(&both).expires(), now.after(SECOND / 2));
        both.restart(SECOND * 3, now);
        assert_eq!(outer.expires(), now.after(SECOND * 3));
        assert!(both.start_watching() && !both.clone().start_watching());
        assert!(inner.start_watching());
    }

    #[test]
    fn they_are_remembered_while_there_is_a_guard() {
        let bounds = Bounds::default().and(SECOND, Instant::START);
        let weak = bounds.downgrade();
        assert_eq!(Bounds::upgrade(&weak).all().len(), 1);
        drop(bounds);
        assert!(Bounds::upgrade(&weak).all().is_empty());
    }
}
