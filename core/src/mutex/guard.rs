//! [`MutexGuard`]: the guard of a mutex.

use crate::handle::{Holding, guard_methods, single_guard_methods, unlock_methods};

/// A held lock. Dropping it releases the lock in the background, from any thread, with or without a runtime.
///
/// A lock with a lease can be lost while its guard exists: if the store was unreachable for a whole lease, if `expire`
/// is over, or if a program took it away with `force_unlock`. [`is_lost`](Self::is_lost), [`check`](Self::check) and
/// [`lost`](Self::lost) report the loss, at the latest when the lease ends by the local clock. If an action must never
/// happen twice, pass [`fencing_token`](Self::fencing_token) to the resource that it changes.
#[must_use = "if unused, the lock is released at once"]
pub struct MutexGuard {
    pub(crate) holding: Holding,
}

single_guard_methods!(MutexGuard);
guard_methods!(MutexGuard);
unlock_methods!(MutexGuard);
