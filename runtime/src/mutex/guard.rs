//! [`MutexGuard`]: what a holder has.

use crate::handle::{Holding, guard_methods, single_guard_methods, unlock_methods};

/// A held lock. Dropping it releases the lock in the background, from any thread, with or without a runtime.
///
/// A lease lock can be lost while the guard lives: when the store could not be reached for a lease, when `expire`
/// is over, when somebody broke it. [`is_lost`](Self::is_lost), [`check`](Self::check) and
/// [`lost`](Self::lost) tell, at the latest at the end of the lease by the local clock. What must never happen twice
/// should hand [`fencing_token`](Self::fencing_token) to the resource it changes.
#[must_use = "if unused, the lock is released at once"]
pub struct MutexGuard {
    pub(crate) holding: Holding,
}

single_guard_methods!(MutexGuard);
guard_methods!(MutexGuard);
unlock_methods!(MutexGuard);
