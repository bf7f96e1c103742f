//! Long waits and holds are reported each time their duration has doubled, and never in between.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Subscriber, span};

use super::in_memory::Free;
use super::{Rig, poll};
use crate::base::clock::by_hand;

/// The warnings of this thread.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<String>>>);

impl Told {
    fn take(&self) -> Vec<String> {
        // Another test may have triggered an event before this subscriber was set. Tracing would then have cached that
        // no subscriber wants it.
        tracing::callsite::rebuild_interest_cache();
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        let _ = write!(self.0, "{field}={value:?} ");
    }
}

impl Subscriber for Told {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() == Level::WARN
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut text = Text(String::new());
        event.record(&mut text);
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        told.push(text.0);
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

/// With an `expire`, because a lock without one may be held for long.
fn want() -> super::Want {
    let mut want = Rig::want();
    want.tenure.expire = Some(Duration::from_secs(86_400));
    want
}

/// Runs the background thread once a second, from `seconds.start` to `seconds.end`.
fn pass(free: &Free, seconds: std::ops::RangeInclusive<u64>) {
    for second in seconds {
        by_hand::set(free.now.after(Duration::from_secs(second)));
        free.member.tick();
    }
}

#[test]
fn a_long_hold_is_told_at_each_doubling_wherever_it_came_from() {
    let free = Free::new();
    let told = Told::default();
    tracing::subscriber::with_default(told.clone(), || {
        let hold = free.take(&want());
        pass(&free, 1..=29);
        assert_eq!(told.take(), [""; 0]);
        pass(&free, 30..=34);
        let first = told.take();
        assert_eq!(first.len(), 1, "{first:?}");
        for text in ["name=queue:free", "holder=s (pid 1 on h)", "waiters=0"] {
            assert!(first[0].contains(text), "{first:?}");
        }
        pass(&free, 35..=59);
        assert_eq!(told.take(), [""; 0]);
        pass(&free, 60..=241);
        assert_eq!(told.take().len(), 3);
        assert!(hold.is_valid());
        free.release(&hold);
        pass(&free, 242..=500);
        assert_eq!(told.take(), [""; 0]);
    });
}

#[test]
fn waiters_of_one_place_are_told_together_with_holder_and_place() {
    let free = Free::new();
    let told = Told::default();
    tracing::subscriber::with_default(told.clone(), || {
        let hold = free.take(&want());
        let at = |meta: &'static str| super::Want {
            meta: meta.into(),
            ..want()
        };
        let mut waiting = vec![
            free.enter(&at("h 1 one")).unwrap(),
            free.enter(&at("h 1 other")).unwrap(),
            free.enter(&at("h 1 one")).unwrap(),
        ];
        for waiter in &mut waiting {
            assert!(poll(waiter).is_none());
        }
        pass(&free, 1..=29);
        assert_eq!(told.take(), [""; 0]);
        pass(&free, 30..=34);
        let mut all = told.take();
        all.retain(|text| text.contains("waited="));
        assert_eq!(all.len(), 2, "{all:?}");
        for text in [
            "site=one (pid 1 on h)",
            "calls=2",
            "place=1",
            "holder=s (pid 1 on h)",
        ] {
            assert!(all[0].contains(text), "{all:?}");
        }
        for text in ["site=other (pid 1 on h)", "calls=1", "place=2"] {
            assert!(all[1].contains(text), "{all:?}");
        }
        pass(&free, 35..=59);
        assert_eq!(told.take(), [""; 0]);
        drop(waiting);
        free.release(&hold);
    });
}
