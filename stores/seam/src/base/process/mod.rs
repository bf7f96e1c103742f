//! Values that a process does not share with forked children. `exit` counts the forks.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use once_cell::race::OnceBox;

/// Zero in a process that was not forked, and one more in each forked child than in its parent.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// The number of forks since the first ancestor. Cheaper to read than the process id.
pub fn forks() -> u32 {
    FORKS.load(Ordering::Relaxed)
}

/// Called in a forked child. Async-signal-safe.
#[cfg(unix)]
pub fn forked() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// Not shared with forked children, because a thread of the parent may have had the value locked at the fork. For the
/// same reason it is created without a lock: if two threads do so, one of the values is dropped.
pub struct PerProcess<T: 'static> {
    make: fn() -> T,
    value: OnceBox<T>,
    /// The value after another fork.
    next: OnceBox<Self>,
}

impl<T> PerProcess<T> {
    /// A value that `make` makes.
    pub const fn new(make: fn() -> T) -> Self {
        Self {
            make,
            value: OnceBox::new(),
            next: OnceBox::new(),
        }
    }

    #[inline]
    /// The value of this process.
    pub fn get(&self) -> &T {
        self.after(forks())
    }

    #[inline]
    fn after(&self, forks: u32) -> &T {
        let mut slot = self;
        for _ in 0..forks {
            let next = || Box::new(Self::new(self.make));
            slot = slot.next.get_or_init(next);
        }
        slot.value.get_or_init(|| Box::new((self.make)()))
    }

    /// The values of the process's ancestors, the latest first.
    pub fn inherited(&self) -> impl Iterator<Item = &T> {
        (0..forks()).rev().map(|forks| self.after(forks))
    }
}

impl<T> PerProcess<Mutex<T>> {
    /// Locks the value of this process.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.get().lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_process_has_its_own_value_however_often_it_was_forked() {
        let values = PerProcess::new(OnceBox::<u32>::new);
        for forks in 0..100 {
            assert!(values.after(forks).set(Box::new(forks)).is_ok(), "{forks}");
        }
        for forks in 0..100 {
            assert_eq!(values.after(forks).get(), Some(&forks));
        }
    }
}
