//! A subscriber that remembers spans, and which of them a thread is in. It listens on one thread.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Event, Metadata, Subscriber};

/// A span as the subscriber knows it.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Its name.
    pub name: &'static str,
    /// Its target.
    pub target: &'static str,
    /// The name of the span that its thread was in when it was made.
    pub parent: Option<&'static str>,
    /// Its fields that have a value, as text.
    pub fields: BTreeMap<&'static str, String>,
    /// Nobody has it any more.
    pub is_closed: bool,
}

/// An event.
#[derive(Clone, Debug)]
pub struct Heard {
    /// Its target.
    pub target: &'static str,
    /// Its fields and its message, as text.
    pub text: String,
    /// The name of the span that its thread was in.
    pub inside: Option<&'static str>,
}

#[derive(Debug, Default)]
struct State {
    /// By id, from 1.
    spans: Vec<Seen>,
    /// The handles of each span.
    handles: Vec<usize>,
    /// Those that the thread is in, the innermost last.
    inside: Vec<usize>,
    events: Vec<Heard>,
}

/// What was heard.
#[derive(Clone, Debug, Default)]
pub struct Spans(Arc<Mutex<State>>);

impl Spans {
    /// Listens on this thread until the guard is dropped.
    #[must_use]
    pub fn listen() -> (Self, DefaultGuard) {
        let spans = Self::default();
        let guard = tracing::subscriber::set_default(Listener(spans.clone(), AtomicU64::new(0)));
        (spans, guard)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All spans of this name, in order.
    #[must_use]
    pub fn named(&self, name: &str) -> Vec<Seen> {
        let state = self.lock();
        let named = state.spans.iter().filter(|span| span.name == name);
        named.cloned().collect()
    }

    /// The name of the span that the thread is in.
    #[must_use]
    pub fn current(&self) -> Option<&'static str> {
        self.lock().current()
    }

    /// All events, in order.
    #[must_use]
    pub fn events(&self) -> Vec<Heard> {
        self.lock().events.clone()
    }
}

impl State {
    fn current(&self) -> Option<&'static str> {
        self.inside.last().map(|index| self.spans[*index].name)
    }
}

struct Listener(Spans, AtomicU64);

fn index(id: &Id) -> usize {
    usize::try_from(id.into_u64() - 1).expect("few spans")
}

struct Fields<'a>(&'a mut BTreeMap<&'static str, String>);

impl Visit for Fields<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
}

impl Subscriber for Listener {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut fields = BTreeMap::new();
        span.record(&mut Fields(&mut fields));
        let mut state = self.0.lock();
        let parent = state.current();
        let metadata = span.metadata();
        state.spans.push(Seen {
            name: metadata.name(),
            target: metadata.target(),
            parent,
            fields,
            is_closed: false,
        });
        state.handles.push(1);
        Id::from_u64(self.1.fetch_add(1, Ordering::SeqCst) + 1)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        let mut fields = BTreeMap::new();
        values.record(&mut Fields(&mut fields));
        self.0.lock().spans[index(span)].fields.extend(fields);
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = BTreeMap::new();
        event.record(&mut Fields(&mut fields));
        let text: Vec<_> = fields
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let mut state = self.0.lock();
        let inside = state.current();
        state.events.push(Heard {
            target: event.metadata().target(),
            text: text.join(" "),
            inside,
        });
    }

    fn enter(&self, span: &Id) {
        self.0.lock().inside.push(index(span));
    }

    fn exit(&self, span: &Id) {
        let mut state = self.0.lock();
        let left = state.inside.pop();
        drop(state);
        assert_eq!(
            left,
            Some(index(span)),
            "left in another order than entered"
        );
    }

    fn clone_span(&self, span: &Id) -> Id {
        self.0.lock().handles[index(span)] += 1;
        span.clone()
    }

    fn try_close(&self, span: Id) -> bool {
        let mut state = self.0.lock();
        let index = index(&span);
        state.handles[index] -= 1;
        let closed = state.handles[index] == 0;
        state.spans[index].is_closed = closed;
        closed
    }
}
