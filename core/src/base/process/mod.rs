//! Values that a process does not share with its forked children. `exit` counts the forks.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use once_cell::race::OnceBox;

/// Grows by one in every child of a fork, from 0 in the process that is no fork.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// The number of forks since the first ancestor; cheaper to read than the process id.
pub(crate) fn forks() -> u32 {
    FORKS.load(Ordering::Relaxed)
}

/// Called in the child of a fork. Async-signal-safe.
#[cfg(unix)]
pub(crate) fn forked() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// Not shared with forked children: a thread of the parent may have locked the parent's value at the fork. For the same
/// reason no lock guards the making: of two threads' values, one is dropped.
pub(crate) struct PerProcess<T: 'static> {
    make: fn() -> T,
    value: OnceBox<T>,
    /// The value after another fork.
    next: OnceBox<Self>,
}

impl<T> PerProcess<T> {
    pub(crate) const fn new(make: fn() -> T) -> Self {
        Self {
            make,
            value: OnceBox::new(),
            next: OnceBox::new(),
        }
    }

    #[inline]
    pub(crate) fn get(&self) -> &T {
        self.after(forks())
    }

    #[inline]
    fn after(&self, forks: u32) -> &T {
        let mut place = self;
        for _ in 0..forks {
            let next = || Box::new(Self::new(self.make));
            place = place.next.get_or_init(next);
        }
        place.value.get_or_init(|| Box::new((self.make)()))
    }

    /// Of the process's ancestors, the last one first.
    pub(crate) fn inherited(&self) -> impl Iterator<Item = &T> {
        (0..forks()).rev().map(|forks| self.after(forks))
    }
}

impl<T> PerProcess<Mutex<T>> {
    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
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
