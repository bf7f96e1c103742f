//! [`RwLockReadGuard`] and [`RwLockWriteGuard`]: what holders have.

use crate::handle::{Holding, guard_methods, single_guard_methods, unlock_methods};

/// A lock held for reading, beside other readers. Dropping it releases it in the background, from any thread,
/// with or without a runtime.
///
/// It can be lost while it lives, like a [`MutexGuard`](crate::MutexGuard): [`is_lost`](Self::is_lost),
/// [`check`](Self::check) and [`lost`](Self::lost) tell.
#[must_use = "if unused, the lock is released at once"]
pub struct RwLockReadGuard {
    pub(super) holding: Holding,
}

single_guard_methods!(RwLockReadGuard);
guard_methods!(RwLockReadGuard);
unlock_methods!(RwLockReadGuard);

/// A lock held for writing, by nobody else. Dropping it releases it in the background, from any thread, with or
/// without a runtime.
///
/// It can be lost while it lives, like a [`MutexGuard`](crate::MutexGuard): [`is_lost`](Self::is_lost),
/// [`check`](Self::check) and [`lost`](Self::lost) tell.
#[must_use = "if unused, the lock is released at once"]
pub struct RwLockWriteGuard {
    pub(super) holding: Holding,
}

single_guard_methods!(RwLockWriteGuard);
guard_methods!(RwLockWriteGuard);
unlock_methods!(RwLockWriteGuard);
