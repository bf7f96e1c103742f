//! Reads local time for leases, from a clock that keeps counting while the machine sleeps. On Linux,
//! `std::time::Instant` stops then, and a lease that ended during the sleep would look valid afterwards.

mod system;

pub use auto_mutex_protocol::Instant;

/// The current time.
#[inline]
pub fn now() -> Instant {
    #[cfg(any(test, feature = "test-util"))]
    if let Some(now) = by_hand::now() {
        return now;
    }
    Instant::from_nanos(system::nanos())
}

/// The clock of a test, for its own thread.
#[cfg(any(test, feature = "test-util"))]
pub mod by_hand {
    #![allow(missing_docs)]

    use std::cell::RefCell;
    use std::rc::Rc;

    use super::Instant;

    type Read = Rc<dyn Fn() -> Option<Instant>>;

    thread_local! {
        static CLOCK: RefCell<Option<Read>> = const { RefCell::new(None) };
    }

    pub(super) fn now() -> Option<Instant> {
        let clock = CLOCK.try_with(|clock| clock.borrow().clone());
        clock.ok().flatten()?()
    }

    pub fn set(now: Instant) {
        follow(move || Some(now));
    }

    /// Reads the time from `clock` from now on; from the system's if it returns `None`.
    pub fn follow(clock: impl Fn() -> Option<Instant> + 'static) {
        CLOCK.set(Some(Rc::new(clock)));
    }
}
