//! The warnings of a thread about deadlocks.

use std::fmt::Debug;

use tracing::field::{Field, Visit};
use tracing::subscriber::{DefaultGuard, set_default};
use tracing::{Event, Metadata, Subscriber, callsite, span};

/// Calls `told` with each warning: its text, and whether it says that a call fails.
pub(super) fn hear(told: impl Fn(&str, bool) + Send + Sync + 'static) -> DefaultGuard {
    let guard = set_default(Warnings(told));
    // Another test may have triggered an event before. Tracing would then have cached that no subscriber wants it.
    callsite::rebuild_interest_cache();
    guard
}

struct Warnings<F>(F);

#[derive(Default)]
struct Fields(Option<String>, bool);

impl Visit for Fields {
    fn record_bool(&mut self, field: &Field, value: bool) {
        self.1 |= field.name() == "fails" && value;
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "deadlock" {
            self.0 = Some(format!("{value:?}"));
        }
    }
}

impl<F: Fn(&str, bool) + 'static> Subscriber for Warnings<F> {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.fields().field("deadlock").is_some()
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let Fields(text, fails) = fields;
        text.into_iter().for_each(|text| self.0(&text, fails));
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}
