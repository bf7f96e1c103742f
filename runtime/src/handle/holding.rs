//! [`Holding`]: what every guard wraps, and releases in the end.

use std::sync::Arc;
use std::time::Duration;

use crate::clock::Instant;
use crate::error::LockError;
use crate::lease::{Hold, Holds, Terms};
use crate::queue::{Confirmed, Unlocked};

/// What one guard has. Dropped, it is released in the background.
#[derive(Debug)]
pub(crate) struct Holding {
    holds: Holds,
    /// `unlock` has taken over the release.
    left: bool,
}

/// Every guard, for the expansions of the attributes.
#[doc(hidden)]
pub trait Guard {
    /// What it holds.
    fn holds(&self) -> &Holds;
}

impl Holding {
    /// One of the guards that each of `holds` already counts.
    pub(crate) fn new(holds: impl Into<Holds>) -> Self {
        Self {
            holds: holds.into(),
            left: false,
        }
    }

    pub(crate) fn holds(&self) -> &Holds {
        &self.holds
    }

    /// The only hold, or the first of several.
    pub(crate) fn first(&self) -> &Arc<Hold> {
        &self.holds.all()[0]
    }

    /// A nested call shares it: `expire` counts again from now.
    pub(super) fn restart(&self, terms: Terms) -> Result<(), LockError> {
        self.check()?;
        for hold in self.holds.all().iter() {
            hold.local().restart(hold, terms);
        }
        Ok(())
    }

    pub(crate) fn expires_in(&self) -> Duration {
        if self.is_lost() {
            return Duration::ZERO;
        }
        let now = Instant::now();
        let left = self.holds.all().iter().map(|hold| match hold.expires() {
            Instant::NEVER => Duration::MAX,
            _ => hold.expires_in(now),
        });
        left.min().unwrap_or(Duration::MAX)
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.holds.all().iter().any(|hold| !hold.is_valid())
    }

    pub(crate) fn check(&self) -> Result<(), LockError> {
        match self.holds.all().iter().find(|hold| !hold.is_valid()) {
            Some(lost) => Err(lost.lost_error()),
            None => Ok(()),
        }
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

    pub(crate) fn blocking_refresh(&self, expire: Duration) -> Result<(), LockError> {
        for confirmed in self.refreshing(expire)? {
            confirmed.blocking_wait()?;
        }
        Ok(())
    }

    /// All are on their way to the store before any is waited for.
    fn refreshing(&self, expire: Duration) -> Result<Vec<Confirmed>, LockError> {
        let refresh = |hold: &Arc<Hold>| {
            let confirmed = hold.local().refresh(hold, expire)?;
            confirmed.ok_or_else(|| hold.lost_error())
        };
        self.holds.all().iter().map(refresh).collect()
    }

    pub(crate) async fn unlock(mut self) -> Result<bool, LockError> {
        let mut held = true;
        for (hold, answer) in self.leave() {
            held &= match answer {
                Some(answer) => answer.wait().await?.is_some(),
                None => hold.is_valid(),
            };
        }
        Ok(held)
    }

    pub(crate) fn blocking_unlock(mut self) -> Result<bool, LockError> {
        let mut held = true;
        for (hold, answer) in self.leave() {
            held &= match answer {
                Some(answer) => answer.blocking_wait()?.is_some(),
                None => hold.is_valid(),
            };
        }
        Ok(held)
    }

    /// Leaves each hold; with the answer that the store will give, where this was the last guard. All are on their
    /// way before any is waited for.
    fn leave(&mut self) -> Vec<(Arc<Hold>, Option<Unlocked>)> {
        self.left = true;
        let leave = |hold: &Arc<Hold>| {
            let last = hold.unshare();
            (hold.clone(), last.then(|| hold.local().unlock(hold)))
        };
        self.holds.all().iter().map(leave).collect()
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        if self.left {
            return;
        }
        let release = |hold: &&Arc<Hold>| {
            let last = hold.unshare();
            if last {
                hold.local().release(hold);
            }
            last
        };
        // First of all: a subscriber may do anything, also panic.
        let released: Vec<_> = self.holds.all().iter().filter(release).collect();
        for hold in released {
            tracing::debug!(name = %hold.name(), held = ?hold.held(), "lock released");
        }
    }
}
