//! [`Holds`]: what one guard has, of one name or of several.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::slice;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use super::hold::Hold;
use crate::clock::Instant;
use crate::error::LockError;
use crate::lease::Bounds;

/// One hold or several, cheap to clone. Never none.
#[derive(Clone, Debug)]
pub struct Holds {
    holds: Inner,
    /// Until when a nested call may use them, if they do not end before.
    bounds: Bounds,
}

#[derive(Clone, Debug)]
enum Inner {
    One(Arc<Hold>),
    Several(Arc<[Arc<Hold>]>),
}

impl Holds {
    pub(crate) fn all(&self) -> &[Arc<Hold>] {
        match &self.holds {
            Inner::One(hold) => slice::from_ref(hold),
            Inner::Several(holds) => holds,
        }
    }

    /// The only one, or the first of several.
    pub(crate) fn first(&self) -> &Arc<Hold> {
        &self.all()[0]
    }

    pub(crate) fn bounds(&self) -> &Bounds {
        &self.bounds
    }

    /// The same, for a call within `bounds`.
    pub(crate) fn within(mut self, bounds: Bounds) -> Self {
        self.bounds = bounds;
        self
    }

    /// Why they are lost, if one of them is. What was released is not lost.
    pub(crate) fn lost(&self) -> Option<LockError> {
        let lost = self.all().iter().find(|hold| hold.is_lost());
        lost.map(|hold| hold.lost_error()).or_else(|| self.over())
    }

    /// Whether all of them are held, and the call that has them is not over.
    pub(crate) fn check(&self) -> Result<(), LockError> {
        match self.all().iter().find(|hold| !hold.is_valid()) {
            Some(hold) => Err(hold.lost_error()),
            None => self.over().map_or(Ok(()), Err),
        }
    }

    /// The bounds of nested calls count again from now, as `expire`, if all is still held.
    pub(crate) fn restart_bounds(&self, expire: Duration) -> Result<(), LockError> {
        self.check()?;
        self.bounds.restart(expire, Instant::now());
        Ok(())
    }

    /// As an error, that a nested call is over, whose lock is still held.
    fn over(&self) -> Option<LockError> {
        let bound = self.bounds.over()?;
        let hold = self.first();
        (!hold.is_released()).then(|| LockError::Lost {
            name: hold.name().to_string(),
            held: bound.held(Instant::now()),
        })
    }

    /// How much longer they may be held before an `expire` ends it.
    pub(crate) fn expires_in(&self) -> Duration {
        let ends = self.all().iter().map(|hold| hold.expires());
        match ends.fold(self.bounds.expires(), Instant::min) {
            Instant::NEVER => Duration::MAX,
            end => Instant::now().until(end),
        }
    }

    /// Ready once they are lost; what was released is never lost.
    pub(crate) fn poll_lost(&self, cx: &mut Context<'_>) -> Poll<LockError> {
        let mut all = self.all().iter();
        if let Some(hold) = all.find(|hold| hold.poll_lost(cx).is_ready()) {
            return Poll::Ready(hold.lost_error());
        }
        self.watch();
        self.over().map_or(Poll::Pending, Poll::Ready)
    }

    /// Completes once one of them is lost or was released.
    pub(crate) async fn ended(&self) {
        let mut ends: Vec<_> = self.all().iter().map(|hold| hold.ended()).collect();
        poll_fn(|cx| {
            let mut ends = ends.iter_mut();
            if ends.any(|end| Pin::new(end).poll(cx).is_ready()) {
                return Poll::Ready(());
            }
            self.watch();
            match self.bounds.over() {
                Some(_) => Poll::Ready(()),
                None => Poll::Pending,
            }
        })
        .await;
    }

    /// Whoever listens to the holds is woken when a bound is over, too. To be called after that and before looking at them:
    /// one that is over between is seen.
    fn watch(&self) {
        if self.bounds.start_watching() {
            let hold = self.first();
            hold.local().watch(hold, &self.bounds);
        }
    }
}

impl From<Vec<Arc<Hold>>> for Holds {
    fn from(holds: Vec<Arc<Hold>>) -> Self {
        Self {
            holds: Inner::Several(holds.into()),
            bounds: Bounds::default(),
        }
    }
}

impl From<Arc<Hold>> for Holds {
    fn from(hold: Arc<Hold>) -> Self {
        Self {
            holds: Inner::One(hold),
            bounds: Bounds::default(),
        }
    }
}
