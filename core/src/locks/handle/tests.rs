//! A panicking subscriber keeps no lock held, and guards are `Send` and `Sync`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};

use tracing::{Event, Metadata, Subscriber, span, subscriber};

use crate::locks::client::Client;

/// A subscriber that panics at the event whose number is in the first field. The second field counts events.
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
    let names = ["a", "b", "c"];
    for number in 0..6 {
        let panicked = subscriber::with_default(PanicsAt(number, AtomicU32::new(0)), || {
            // Another test may have triggered an event first: see `queue::tests::slow`.
            tracing::callsite::rebuild_interest_cache();
            catch_unwind(AssertUnwindSafe(|| {
                drop(client.multi(names).blocking_lock());
            }))
        });
        assert!(panicked.is_err(), "at event {number}");
        let locked = client.multi(names).blocking_is_locked().unwrap();
        assert!(!locked, "at event {number}");
    }
}

/// Every guard may be sent to another task, and used by several tasks.
const _: () = {
    const fn crosses<T: Send + Sync + 'static>() {}
    crosses::<crate::MutexGuard>();
    crosses::<crate::MultiGuard>();
    crosses::<crate::Permit>();
    crosses::<crate::RwLockReadGuard>();
    crosses::<crate::RwLockWriteGuard>();
    crosses::<crate::Ticket>();
    crosses::<crate::Client>();
};
