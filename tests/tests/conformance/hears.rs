//! Records warnings of the whole process for tests that check them. All other tests ignore warnings.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, Once, PoisonError};

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Subscriber, span};

static TOLD: Mutex<Vec<String>> = Mutex::new(Vec::new());

pub(crate) const WAITS: &str = "has been waiting for a lock";
pub(crate) const HOLDS: &str = "has been held";
pub(crate) const DEADLOCK: &str = "these calls wait for each other";
pub(crate) const BLOCKED: &str = "all worker threads of its holder's runtime are blocked";

struct Hears;

struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        let _ = write!(self.0, "{field}={value:?} ");
    }
}

impl Subscriber for Hears {
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
        if [WAITS, HOLDS, DEADLOCK, BLOCKED]
            .iter()
            .any(|part| text.0.contains(part))
        {
            let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
            told.push(text.0);
        }
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

/// Starts the recording. Returns a new name for a test on one store.
pub(crate) fn listen() -> String {
    static LISTEN: Once = Once::new();
    static COUNT: AtomicU32 = AtomicU32::new(0);
    LISTEN.call_once(|| tracing::subscriber::set_global_default(Hears).expect("the only one"));
    format!("heard-{}", COUNT.fetch_add(1, Ordering::Relaxed))
}

/// Returns the recorded warnings that contain all these parts.
pub(crate) fn told(parts: &[&str]) -> Vec<String> {
    let told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    let has = |text: &&String| parts.iter().all(|part| text.contains(part));
    told.iter().filter(has).cloned().collect()
}
