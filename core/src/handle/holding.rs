//! [`Holding`]: the holds of a guard. Dropping a holding releases its holds.

use std::slice;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::last::Last;
use crate::clock::Instant;
use crate::error::LockError;
use crate::lease::{Bounds, Terms};
use crate::observe::HOLD;
use crate::queue::{Confirmed, Hold, Holds, Stay, Unlocked};
use crate::task::TaskId;

/// The holds of one guard. Dropping a holding releases its holds in the background.
#[derive(Debug)]
pub(crate) struct Holding {
    holds: Holds,
    /// The holds were released, or moved to another holding, so the drop must not release them.
    left: bool,
    /// The caller has not received the guard yet, so the drop passes a granted signal to the next waiter.
    unused: bool,
    /// The holds that the handle of this lock remembers; `None` without a handle.
    pub(crate) last: Option<Arc<Last>>,
    /// Makes the task that took the guard the holder. Empty if the guard may be passed to another task.
    stays: Vec<Stay>,
}

/// Implemented by every guard. The code that the attribute macros generate uses this trait.
#[doc(hidden)]
pub trait Guard {
    /// The guard's holds.
    fn holds(&self) -> &Holds;
}

impl Holding {
    /// The holding of a new guard. The caller has already counted this guard in each of `holds`.
    #[inline]
    pub(crate) fn new(holds: impl Into<Holds>) -> Self {
        Self {
            holds: holds.into(),
            left: false,
            unused: false,
            last: None,
            stays: Vec::new(),
        }
    }

    /// Like [`new`](Self::new), but the caller has not used the holds: if the holding is dropped, a signal that was
    /// granted to one of the holds goes to the next waiter.
    pub(crate) fn unused(holds: impl Into<Holds>) -> Self {
        let mut holding = Self::new(holds);
        holding.unused = true;
        holding
    }

    /// Makes the holding of a lock that was released and taken again. `last` belongs to the handle through which the lock
    /// was taken at first; the handle then remembers `hold`.
    pub(crate) fn again(hold: Arc<Hold>, last: Option<Arc<Last>>) -> Self {
        if let Some(last) = &last {
            last.remember(&hold, &Holds::from(hold.clone()));
        }
        hold.begin();
        let mut holding = Self::new(hold);
        holding.last = last;
        holding
    }

    /// Joins several holdings into one.
    pub(crate) fn join(parts: Vec<Self>) -> Self {
        let mut holds = Vec::with_capacity(parts.len());
        let mut bounds = Bounds::default();
        for mut part in parts {
            part.left = true;
            holds.extend_from_slice(part.holds.all());
            bounds = bounds.join(part.holds.bounds());
        }
        Self::new(Holds::from(holds).within(bounds))
    }

    /// Makes this the holding of a nested call that begins now. `expire` limits only the nested call.
    pub(crate) fn nest(&mut self, expire: Option<Duration>) {
        if let Some(expire) = expire {
            let bounds = self.holds.bounds().and(expire, Instant::now());
            self.holds = self.holds.clone().within(bounds);
        }
    }

    /// Makes the store keep the locks for `at_least` from now.
    pub(crate) fn keep(&self, at_least: Duration) {
        let now = Instant::now();
        for hold in self.holds.all() {
            hold.keep(at_least, now);
        }
    }

    /// Records that `task` took the guard by hand. With `stays`, the guard stays with this task.
    pub(crate) fn taken_by(&mut self, task: Option<TaskId>, stays: bool) {
        for hold in self.holds.all().iter() {
            hold.taken_by(task);
            self.stays
                .extend(task.filter(|_| stays).map(|task| Stay::new(hold, task)));
        }
    }

    /// Whether the guard stays with the task that took it.
    pub(crate) fn stays(&self) -> bool {
        !self.stays.is_empty()
    }

    /// The holds of a body that begins now. From here on, only code inside of the body holds the lock, not the whole task
    /// that took the guard.
    pub(crate) fn begin_body(&mut self) -> Holds {
        self.stays.clear();
        self.holds.clone()
    }

    pub(crate) fn holds(&self) -> &Holds {
        &self.holds
    }

    /// The only hold, or the first of several.
    pub(crate) fn first(&self) -> &Arc<Hold> {
        self.holds.first()
    }

    /// Applies `terms` to all holds, from now.
    pub(crate) fn restart(&self, terms: Terms) {
        for hold in self.holds.all().iter() {
            hold.local().restart(hold, terms);
        }
    }

    pub(crate) fn expires_in(&self) -> Duration {
        match self.is_lost() {
            true => Duration::ZERO,
            false => self.holds.expires_in(),
        }
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.check().is_err()
    }

    pub(crate) fn check(&self) -> Result<(), LockError> {
        self.holds.check()
    }

    pub(crate) async fn lost(&self) {
        self.holds.ended().await;
    }

    pub(crate) async fn refresh(&self, expire: Duration) -> Result<(), LockError> {
        for confirmed in self.refreshing(expire)? {
            confirmed.wait().await?;
        }
        Ok(())
    }

    /// Sends the requests for all holds. The caller awaits the answers afterwards.
    fn refreshing(&self, expire: Duration) -> Result<Vec<Confirmed>, LockError> {
        self.holds.restart_bounds(expire)?;
        let refresh = |hold: &Arc<Hold>| {
            let confirmed = hold.local().refresh(hold, expire);
            confirmed.ok_or_else(|| hold.lost_error())
        };
        self.holds.all().iter().map(refresh).collect()
    }

    /// Releases each hold, unless other guards share it. Returns whether all holds were released; an error if one of
    /// them was lost before. Sends all releases before it awaits an answer.
    pub(crate) async fn unlock(mut self) -> Result<bool, LockError> {
        self.left = true;
        let held = self.check();
        let answers: Vec<_> = self.holds.all().iter().map(leave).collect();
        let mut released = true;
        let mut lost = None;
        for (hold, answer) in self.holds.all().iter().zip(answers) {
            match answer {
                Some(answer) => {
                    if answer.wait().await?.is_none() {
                        lost = lost.or_else(|| Some(hold.unlock_error()));
                    }
                }
                // The other guards may have released the hold by now.
                None => released = false,
            }
        }
        held?;
        lost.map_or(Ok(released), Err)
    }

    /// Releases an unused holding with one hold. If this was the last guard, returns a promise of the store's answer.
    pub(crate) fn give_back(mut self) -> Option<Unlocked> {
        self.left = true;
        let hold = self.first();
        hold.unshare()
            .then(|| hold.local().give_back_confirmed(hold))
    }

    /// Releases a holding with one hold. If this was the last guard, returns a promise of the store's answer.
    pub(crate) fn leave(mut self) -> Option<Unlocked> {
        self.left = true;
        leave(self.first())
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        if self.left {
            return;
        }
        // A holder that panics has not used its token, so the next waiter gets the token.
        let returns = self.unused || thread::panicking();
        let mut releasing = Releasing::new(&self.holds, returns);
        while let Some(hold) = releasing.next() {
            if !self.unused {
                tracing::debug!(target: HOLD, name = %hold.name(), held = ?hold.held(), "lock released");
            }
        }
    }
}

fn leave(hold: &Arc<Hold>) -> Option<Unlocked> {
    hold.unshare().then(|| hold.local().unlock(hold))
}

/// The holds that are not released yet. If a subscriber panics between two releases, the drop releases the rest.
struct Releasing<'a> {
    holds: slice::Iter<'a, Arc<Hold>>,
    returns: bool,
}

impl<'a> Releasing<'a> {
    /// With `returns`, a signalled token goes to the next waiter.
    fn new(holds: &'a Holds, returns: bool) -> Self {
        let holds = holds.all().iter();
        Self { holds, returns }
    }

    /// Releases the next hold that no other guard shares.
    fn next(&mut self) -> Option<&'a Arc<Hold>> {
        let hold = self.holds.find(|hold| hold.unshare())?;
        match self.returns {
            true => hold.local().give_back(hold),
            false => hold.local().release(hold),
        }
        Some(hold)
    }
}

impl Drop for Releasing<'_> {
    fn drop(&mut self) {
        while self.next().is_some() {}
    }
}
