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
    pub(super) holding: Holding,
}

single_guard_methods!(MutexGuard);
guard_methods!(MutexGuard);
unlock_methods!(MutexGuard);

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicU32, Ordering};

    use tracing::{Event, Metadata, Subscriber, span, subscriber};

    use crate::client::Client;

    /// Panics at the event with this number.
    struct PanicsAt(u32, AtomicU32);

    impl Subscriber for PanicsAt {
        fn enabled(&self, _: &Metadata<'_>) -> bool {
            true
        }

        fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
            span::Id::from_u64(1)
        }

        fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

        fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

        fn event(&self, _: &Event<'_>) {
            let number = self.1.fetch_add(1, Ordering::Relaxed);
            assert_ne!(number, self.0, "as told");
        }

        fn enter(&self, _: &span::Id) {}

        fn exit(&self, _: &span::Id) {}
    }

    #[test]
    fn a_subscriber_that_panics_keeps_no_lock() {
        let client = Client::connect("memory://").unwrap();
        for number in [0, 1] {
            let panicked = subscriber::with_default(PanicsAt(number, AtomicU32::new(0)), || {
                catch_unwind(AssertUnwindSafe(|| drop(client.mutex("m").blocking_lock())))
            });
            assert!(panicked.is_err());
            assert!(
                !client.mutex("m").blocking_is_locked().unwrap(),
                "at event {number}"
            );
        }
    }
}
