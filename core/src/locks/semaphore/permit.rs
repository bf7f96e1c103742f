//! [`Permit`]: the guard of some permits.

use std::sync::Arc;

use super::free;
use crate::base::error::LockError;
use crate::base::wait::block_on;
use crate::locks::handle::{Holding, guard_methods, single_guard_methods};
use crate::queue::Hold;
use crate::store::Op;

/// One or more permits of a [`Semaphore`](super::Semaphore). Dropping the guard releases them in the background, from
/// any thread, with or without a runtime.
///
/// The permits can be lost while the guard exists, like the lock of a [`MutexGuard`](crate::MutexGuard): see
/// [`is_lost`](Self::is_lost), [`check`](Self::check) and [`lost`](Self::lost).
#[must_use = "if unused, the permit is released at once"]
pub struct Permit {
    pub(super) holding: Holding,
}

single_guard_methods!(Permit);
guard_methods!(Permit);

impl Permit {
    /// The number of permits. A nested call shares all permits of the outer call.
    #[must_use]
    pub fn units(&self) -> u32 {
        self.holding.first().units()
    }

    /// The [signalled](super::Semaphore::signal) token, if the permit is a token.
    #[must_use]
    pub fn token(&self) -> Option<&str> {
        self.holding.first().grant.signal.as_deref()
    }

    /// Releases the permits, and waits for the store to confirm. Returns how many permits, including tokens, are free
    /// afterwards. While other guards share the permits (re-entry), nothing is released.
    ///
    /// # Errors
    ///
    /// [`LockError::Lost`] if the permits were lost before the release. [`LockError::Unavailable`] if the store does
    /// not answer within `store_timeout`; the release is resent until it does.
    ///
    /// # Cancel safety
    ///
    /// The permits are released, whether or not the future completes.
    pub async fn release(self) -> Result<u32, LockError> {
        let hold = self.holding.first().clone();
        let held = self.holding.check();
        let Some(released) = self.holding.leave() else {
            held?;
            return free_while_shared(&hold).await;
        };
        match released.wait().await? {
            Some(free) => Ok(u32::try_from(free).unwrap_or(u32::MAX)),
            None => Err(hold.unlock_error()),
        }
    }

    /// Like [`release`](Self::release), but blocks the thread. The errors are the same.
    pub fn blocking_release(self) -> Result<u32, LockError> {
        block_on(self.release())
    }
}

async fn free_while_shared(hold: &Arc<Hold>) -> Result<u32, LockError> {
    if !hold.is_valid() {
        return Err(hold.lost_error());
    }
    let core = &hold.queue.core;
    let asked = core.with_queue(hold.name(), |local| {
        local.query(&Op::Inspect { above: u32::MAX })
    })?;
    let record = asked.wait().await?.into_record();
    Ok(free(&record, hold.want().share.capacity))
}
