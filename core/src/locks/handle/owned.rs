//! Operations on the holds of a handle without a guard.

use std::sync::Arc;
use std::time::Duration;

use super::Handle;
use crate::base::error::{LockError, LossCause};
use crate::caller::Caller;
use crate::queue::{Confirmed, Hold, Holds};

impl Handle {
    /// The valid hold in this process of this handle, its owner, or a protected call around this one.
    fn held_here(&self) -> Result<Option<Holds>, LockError> {
        let caller = Caller::current(false);
        let target = self.resolve(&caller)?;
        let inside = |suits: &dyn Fn(&Hold) -> bool| {
            caller.find(target.client.id(), &target.name, suits, |_| true)
        };
        if let Some(owner) = &self.owner {
            let core = target.client.core();
            let held = core.with_queue(&target.name, |local| Some(local.held_by(owner)))?;
            let around = |held: &Arc<Hold>| inside(&|hold| std::ptr::eq(hold, &**held));
            return Ok(held.map(|held| around(&held).unwrap_or_else(|| held.into())));
        }
        Ok(inside(&Hold::is_valid).or_else(|| self.last.holds()))
    }

    pub(crate) fn not_held(&self) -> Result<LockError, LockError> {
        let name = self.complete_name()?;
        Ok(LockError::lost_after(
            name,
            Duration::ZERO,
            LossCause::Released,
        ))
    }

    /// Asks the store whether the lock is still held, by renewing its lease. `None` if this process has no valid hold.
    pub(crate) fn confirm(&self) -> Result<Option<Confirmed>, LockError> {
        Ok(self.held_here()?.and_then(|holds| holds.first().renew()))
    }

    pub(crate) fn refresh(&self, expire: Duration) -> Result<Confirmed, LockError> {
        let Some(holds) = self.held_here()? else {
            return Err(self.not_held()?);
        };
        holds.restart_bounds(expire)?;
        let hold = holds.first();
        let confirmed = hold.refresh(expire);
        confirmed.ok_or_else(|| hold.lost_error())
    }

    pub(crate) fn unlock(&self) -> Result<Option<Confirmed>, LockError> {
        Ok(self.held_here()?.map(|holds| holds.first().unlock()))
    }
}

/// Converts the result of [`Handle::confirm`]. `false` if the lock is lost.
pub(crate) fn owned(confirmed: Result<Option<u64>, LockError>) -> Result<bool, LockError> {
    match confirmed {
        Ok(_) => Ok(true),
        Err(LockError::Lost { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}
