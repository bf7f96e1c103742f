//! Acting on what is held through a handle, without its guard.

use std::sync::Arc;
use std::time::Duration;

use super::Handle;
use crate::error::LockError;
use crate::lease::Hold;
use crate::queue::{Confirmed, Unlocked};
use crate::task;

impl Handle {
    /// What this handle or a protected call around has of this lock.
    fn held_here(&self) -> Result<Option<Arc<Hold>>, LockError> {
        let target = self.resolve()?;
        let inside = task::find(target.client.id(), &target.name, Hold::is_valid);
        Ok(inside.or_else(|| self.last.hold()))
    }

    /// Asks the store whether it is held; `None` if it is not, as is known here.
    pub(crate) fn confirm(&self) -> Result<Option<Confirmed>, LockError> {
        Ok(self.held_here()?.and_then(|hold| hold.local().renew(&hold)))
    }

    pub(crate) fn refresh(&self, expire: Duration) -> Result<Confirmed, LockError> {
        let Some(hold) = self.held_here()? else {
            return Err(LockError::Lost {
                name: self.resolve()?.name.to_string(),
                held: Duration::ZERO,
            });
        };
        let confirmed = hold.local().refresh(&hold, expire)?;
        confirmed.ok_or_else(|| hold.lost_error())
    }

    /// Releases it, however many guards share it; `None` if nothing is held here.
    pub(crate) fn unlock(&self) -> Result<Option<Unlocked>, LockError> {
        Ok(self.held_here()?.map(|hold| hold.local().unlock(&hold)))
    }
}

/// What the store's answer to [`Handle::confirm`] means.
pub(crate) fn owned(confirmed: Result<(), LockError>) -> Result<bool, LockError> {
    match confirmed {
        Ok(()) => Ok(true),
        Err(LockError::Lost { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}
