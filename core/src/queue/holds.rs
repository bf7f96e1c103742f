//! [`Holds`]: the holds of one guard. [`Stay`]: ties the guard of a reentrant handle to the task that took it. Other
//! guards taken by hand belong to no task, because they can move to another task unnoticed.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::slice;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use super::hold::{FencingToken, Hold};
use crate::base::clock::{self, Instant};
use crate::base::error::LockError;
use crate::base::process::PerProcess;
use crate::base::task::TaskId;
use crate::lease::{Bounds, ListenerKey};

#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct Holds {
    holds: Inner,
    bounds: Bounds,
}

#[derive(Clone, Debug)]
enum Inner {
    One(Arc<Hold>),
    Several(Arc<[Arc<Hold>]>),
}

impl Holds {
    fn of(holds: Inner) -> Self {
        let bounds = Bounds::default();
        Self { holds, bounds }
    }

    pub(crate) fn all(&self) -> &[Arc<Hold>] {
        match &self.holds {
            Inner::One(hold) => slice::from_ref(hold),
            Inner::Several(holds) => holds,
        }
    }

    pub(crate) fn first(&self) -> &Arc<Hold> {
        &self.all()[0]
    }

    pub(crate) fn token(&self) -> u64 {
        let tokens = self.all().iter().map(|hold| hold.grant.token);
        tokens.max().unwrap_or(0)
    }

    /// Of the locks that nobody shares.
    pub(crate) fn fencing_tokens(&self) -> Vec<FencingToken> {
        let holds = self.all().iter().filter(|hold| hold.is_exclusive());
        holds.map(|hold| hold.fencing_token()).collect()
    }

    pub(crate) fn bounds(&self) -> &Bounds {
        &self.bounds
    }

    pub(crate) fn within(mut self, bounds: Bounds) -> Self {
        self.bounds = bounds;
        self
    }

    /// The error of the first lost hold. Released holds are not lost.
    pub(crate) fn lost(&self) -> Option<LockError> {
        let lost = self.all().iter().find(|hold| hold.is_lost());
        lost.map(|hold| hold.lost_error()).or_else(|| self.over())
    }

    pub(crate) fn check(&self) -> Result<(), LockError> {
        match self.all().iter().find(|hold| !hold.is_valid()) {
            Some(hold) => Err(hold.lost_error()),
            None => self.over().map_or(Ok(()), Err),
        }
    }

    pub(crate) fn restart_bounds(&self, expire: Duration) -> Result<(), LockError> {
        self.check()?;
        self.bounds.restart(expire, clock::now());
        Ok(())
    }

    /// The error if a bound has ended while the lock is still held.
    fn over(&self) -> Option<LockError> {
        let bound = self.bounds.over()?;
        let hold = self.first();
        let held = bound.held(clock::now());
        (!hold.is_released())
            .then(|| LockError::lost_after(hold.name().to_string(), held, bound.cause()))
    }

    pub(crate) fn expires_in(&self) -> Duration {
        let ends = self.all().iter().map(|hold| hold.expires());
        match ends.fold(self.bounds.expires(), Instant::min) {
            Instant::NEVER => Duration::MAX,
            end => clock::now().until(end),
        }
    }

    /// The time until the first of the holds is lost, unless its lease is renewed.
    pub(crate) fn ends_in(&self) -> Duration {
        let ends = self.all().iter().map(|hold| hold.deadline());
        clock::now().until(ends.fold(self.bounds.expires(), Instant::min))
    }

    /// Like [`lost`](Self::lost), and registers the task's waker until [`forget`](Self::forget).
    pub(crate) fn poll_lost(
        &self,
        cx: &mut Context<'_>,
        key: &mut Option<ListenerKey>,
    ) -> Poll<LockError> {
        let key = *key.get_or_insert_with(ListenerKey::new);
        self.poll_until(cx, key, Hold::is_lost)
    }

    /// Removes the task's waker, because a hold can last for days and have many listeners.
    pub(crate) fn forget(&self, key: Option<ListenerKey>) {
        let Some(key) = key else { return };
        // Another thread of the parent may have held a list's mutex at a fork.
        let holds = self.all().iter();
        for hold in holds.filter(|hold| !hold.queue.core.is_forked()) {
            hold.listeners.remove(key);
        }
    }

    pub(crate) fn ended(&self) -> Ended<'_> {
        Ended {
            holds: self,
            key: ListenerKey::new(),
        }
    }

    fn poll_until(
        &self,
        cx: &mut Context<'_>,
        key: ListenerKey,
        over: impl Fn(&Hold) -> bool,
    ) -> Poll<LockError> {
        let is_over = |hold: &&Arc<Hold>| {
            over(hold) || {
                hold.listeners.register(cx, key);
                // Checked again, because the hold may have ended between the first check and the registration.
                over(hold)
            }
        };
        if let Some(hold) = self.all().iter().find(is_over) {
            return Poll::Ready(hold.lost_error());
        }
        self.watch();
        self.over().map_or(Poll::Pending, Poll::Ready)
    }

    /// Makes the background thread wake the tasks when a bound ends. To miss no end, register their wakers before this
    /// call, and check the bounds after it.
    fn watch(&self) {
        if self.bounds.start_watching() {
            let hold = self.first();
            hold.watch(&self.bounds);
        }
    }
}

#[must_use = "futures do nothing unless polled"]
pub(crate) struct Ended<'a> {
    holds: &'a Holds,
    key: ListenerKey,
}

impl Future for Ended<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let is_over = |hold: &Hold| !hold.is_valid();
        self.holds.poll_until(cx, self.key, is_over).map(drop)
    }
}

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.holds.forget(Some(self.key));
    }
}

impl From<Vec<Arc<Hold>>> for Holds {
    fn from(holds: Vec<Arc<Hold>>) -> Self {
        Self::of(Inner::Several(holds.into()))
    }
}

impl From<Arc<Hold>> for Holds {
    fn from(hold: Arc<Hold>) -> Self {
        Self::of(Inner::One(hold))
    }
}

/// Counts a hold as held by a task, until this value is dropped.
#[derive(Debug)]
pub(crate) struct Stay {
    task: TaskId,
    hold: Weak<Hold>,
}

/// A hold is listed once per guard.
static STAYS: PerProcess<Mutex<HashMap<TaskId, Vec<Weak<Hold>>>>> = PerProcess::new(Mutex::default);
/// Lets most calls avoid locking the mutex.
static COUNT: PerProcess<AtomicUsize> = PerProcess::new(AtomicUsize::default);

impl Stay {
    pub(crate) fn new(hold: &Arc<Hold>, task: TaskId) -> Self {
        let hold = Arc::downgrade(hold);
        STAYS.lock().entry(task).or_default().push(hold.clone());
        COUNT.get().fetch_add(1, Ordering::Release);
        Self { task, hold }
    }
}

impl Drop for Stay {
    fn drop(&mut self) {
        let mut by_task = STAYS.lock();
        // A forked child has its own list.
        let Some(holds) = by_task.get_mut(&self.task) else {
            return;
        };
        if let Some(index) = holds.iter().position(|hold| hold.ptr_eq(&self.hold)) {
            holds.remove(index);
            COUNT.get().fetch_sub(1, Ordering::Release);
        }
        if holds.is_empty() {
            by_task.remove(&self.task);
        }
    }
}

/// Visits the valid holds that the running task took through reentrant handles, oldest first. `blocking`: see
/// [`TaskId::current`].
#[inline]
pub(crate) fn held_by_hand(blocking: bool, visit: impl FnMut(Arc<Hold>)) {
    if COUNT.get().load(Ordering::Acquire) > 0 {
        taken_by(blocking).for_each(visit);
    }
}

#[cold]
fn taken_by(blocking: bool) -> impl Iterator<Item = Arc<Hold>> {
    let task = TaskId::current(blocking);
    let found = task.and_then(|task| {
        let by_task = STAYS.lock();
        let holds = by_task.get(&task)?.iter();
        Some(holds.filter_map(Weak::upgrade).collect::<Vec<_>>())
    });
    // Unlock the mutex first: dropping the last reference to a hold may run other code.
    let holds = found.unwrap_or_default().into_iter();
    holds.filter(|hold| hold.is_valid())
}
