//! [`Holding`]: the holds of a guard. Dropping it releases them in the background.

use std::iter;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::last::Last;
use crate::base::clock;
use crate::base::duration::rounded;
use crate::base::error::LockError;
use crate::base::task::TaskId;
use crate::lease::{Bound, Bounds, Tenure};
use crate::observe::HOLD;
use crate::queue::{Confirmed, Hold, Holds, Stay};

#[derive(Debug)]
pub(crate) struct Holding {
    holds: Holds,
    left: bool,
    /// Whether the caller has not received the guard yet. The drop then passes a granted signal to the next waiter.
    unused: bool,
    pub(crate) last: Option<Arc<Last>>,
    /// Empty if the guard may move to another task.
    stays: Vec<Stay>,
}

#[doc(hidden)]
pub trait Guard {
    fn holds(&self) -> &Holds;
}

impl Holding {
    /// The caller must already have counted the guard in each of `holds`.
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

    pub(crate) fn unused(holds: impl Into<Holds>) -> Self {
        let mut holding = Self::new(holds);
        holding.unused = true;
        holding
    }

    /// The holding of a lock that was released and taken again. `last` is that of the first handle.
    pub(crate) fn again(hold: Arc<Hold>, last: Option<Arc<Last>>) -> Self {
        if let Some(last) = &last {
            last.remember(&hold, &Holds::from(hold.clone()));
        }
        hold.begin();
        let mut holding = Self::new(hold);
        holding.last = last;
        holding
    }

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

    /// Makes this the holding of a nested call that begins now, with its own `expire`.
    pub(crate) fn nest(&mut self, expire: Option<Duration>) {
        if let Some(expire) = expire {
            let bounds = self.holds.bounds().and(expire, clock::now());
            self.holds = self.holds.clone().within(bounds);
        }
    }

    /// Makes the body end with `bound`, too.
    pub(crate) fn bound(&mut self, bound: Arc<Bound>) {
        let bounds = self.holds.bounds().with(bound);
        self.holds = self.holds.clone().within(bounds);
    }

    pub(crate) fn park_for(&self, at_least: Option<Duration>) {
        let now = clock::now();
        for hold in self.holds.all() {
            hold.park_for(at_least, now);
        }
    }

    pub(crate) fn taken_by(&mut self, task: Option<TaskId>, stays: bool) {
        for hold in self.holds.all().iter() {
            hold.taken_by(task);
            self.stays
                .extend(task.filter(|_| stays).map(|task| Stay::new(hold, task)));
        }
    }

    pub(crate) fn stays(&self) -> bool {
        !self.stays.is_empty()
    }

    /// The holds for a body that begins now. From here on, the body holds the lock, not the whole task.
    pub(crate) fn begin_body(&mut self) -> Holds {
        self.stays.clear();
        self.holds.clone()
    }

    pub(crate) fn holds(&self) -> &Holds {
        &self.holds
    }

    pub(crate) fn first(&self) -> &Arc<Hold> {
        self.holds.first()
    }

    pub(crate) fn restart(&self, tenure: Tenure) {
        for hold in self.holds.all().iter() {
            hold.restart(tenure);
        }
    }

    pub(crate) fn expires_in(&self) -> Duration {
        match self.is_lost() {
            true => Duration::ZERO,
            false => self.holds.expires_in(),
        }
    }

    pub(crate) fn ends_in(&self) -> Duration {
        match self.is_lost() {
            true => Duration::ZERO,
            false => self.holds.ends_in(),
        }
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.check().is_err()
    }

    pub(crate) fn check(&self) -> Result<(), LockError> {
        self.holds.check()
    }

    /// Sends the requests for all holds before awaiting an answer.
    pub(crate) async fn refresh(&self, expire: Duration) -> Result<(), LockError> {
        self.holds.restart_bounds(expire)?;
        let refresh = |hold: &Arc<Hold>| {
            let confirmed = hold.refresh(expire);
            confirmed.ok_or_else(|| hold.lost_error())
        };
        let sent: Result<Vec<Confirmed>, _> = self.holds.all().iter().map(refresh).collect();
        for confirmed in sent? {
            confirmed.wait().await?;
        }
        Ok(())
    }

    /// Releases each hold unless other guards share it. Returns whether all were released, or an error if one had been
    /// lost. Sends all releases before awaiting an answer. Its future is small: tasks that wait for a lock have room
    /// for it.
    pub(crate) async fn unlock(&mut self) -> Result<bool, LockError> {
        self.left = true;
        let mut error = self.check().err().map(Box::new);
        let mut answers = self.holds.all().iter().map(leave);
        // Avoids a list in the usual case of one hold.
        let (first, rest) = (answers.next().flatten(), answers.collect::<Vec<_>>());
        let mut released = true;
        for (index, answer) in iter::once(first).chain(rest).enumerate() {
            released &= answer.is_some();
            if let Some(answer) = answer
                && answer.wait().await?.is_none()
            {
                let hold = &self.holds.all()[index];
                error = error.or_else(|| Some(Box::new(hold.unlock_error())));
            }
        }
        error.map_or(Ok(released), |error| Err(*error))
    }

    /// Like [`leave`](Self::leave), for a holding that was not used.
    pub(crate) fn give_back(mut self) -> Option<Confirmed> {
        self.left = true;
        self.first().give_back(true)
    }

    /// Releases the only hold. If this was the last guard, promises the store's answer.
    pub(crate) fn leave(mut self) -> Option<Confirmed> {
        self.left = true;
        leave(self.first())
    }
}

impl Drop for Holding {
    #[inline]
    fn drop(&mut self) {
        if !self.left {
            self.release();
        }
        if let Some(last) = &self.last {
            last.forget(self.first());
        }
    }
}

impl Holding {
    fn release(&self) {
        // A holder that panics has not used its token.
        let returns = self.unused || thread::panicking();
        let mut panicked = None;
        for hold in self.holds.all().iter().filter(|hold| hold.remove_guard()) {
            // A panicking waker or subscriber must not keep the other locks held.
            let released = catch_unwind(AssertUnwindSafe(|| {
                hold.release(returns);
                if !self.unused {
                    tracing::debug!(target: HOLD, name = %hold.name(), held = ?rounded(hold.held()), "lock released");
                }
            }));
            panicked = panicked.or(released.err());
        }
        if let Some(panic) = panicked {
            resume_unwind(panic);
        }
    }
}

fn leave(hold: &Arc<Hold>) -> Option<Confirmed> {
    hold.remove_guard().then(|| hold.unlock())
}
