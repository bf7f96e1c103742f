//! A `tracing` subscriber that records the spans and events of listening threads, and which spans each thread is in.
//!
//! The whole program has one subscriber. With one per thread, `tracing` could decide that no subscriber wants a
//! callsite, if one thread reached it first while another was setting its subscriber.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// A span as the subscriber knows it.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The span's name.
    pub name: &'static str,
    /// The span's target.
    pub target: &'static str,
    /// The name of the span that the thread was in when the span was made.
    pub parent: Option<&'static str>,
    /// The span's fields that have a value, as text.
    pub fields: BTreeMap<&'static str, String>,
    /// Whether all handles of the span were dropped.
    pub is_closed: bool,
}

/// An event as the subscriber knows it.
#[derive(Clone, Debug)]
pub struct Heard {
    /// The event's target.
    pub target: &'static str,
    /// The event's fields and message, as text.
    pub text: String,
    /// The name of the span that the thread was in.
    pub inside: Option<&'static str>,
}

#[derive(Debug, Default)]
struct State {
    /// The spans, in the order in which they were made.
    spans: Vec<Seen>,
    /// The number of handles of each span.
    handles: Vec<usize>,
    /// The spans that the thread is in, as indices; the innermost is the last.
    inside: Vec<usize>,
    events: Vec<Heard>,
}

/// The record of what one thread did with spans and events.
#[derive(Clone, Debug, Default)]
pub struct Spans(Arc<Mutex<State>>);

thread_local! {
    static LISTENS: RefCell<Option<Spans>> = const { RefCell::new(None) };
}

/// A guard: its thread listens until the guard is dropped.
#[derive(Debug)]
pub struct Listening(PhantomData<*const ()>);

impl Drop for Listening {
    fn drop(&mut self) {
        LISTENS.set(None);
    }
}

impl Spans {
    /// Listens on this thread until the guard is dropped.
    ///
    /// # Panics
    ///
    /// If the program has another subscriber.
    #[must_use]
    pub fn listen() -> (Self, Listening) {
        static SUBSCRIBES: Once = Once::new();
        SUBSCRIBES.call_once(|| {
            tracing::subscriber::set_global_default(Listener::default()).expect("the only one");
        });
        let spans = Self::default();
        LISTENS.set(Some(spans.clone()));
        (spans, Listening(PhantomData))
    }

    fn of_thread() -> Option<Self> {
        LISTENS.try_with(|spans| spans.borrow().clone()).ok()?
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

    /// The name of the span that the thread is in now.
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

/// All recorded spans: the span with id `n` is entry `n - 1`. An entry is the thread's record and the span's index in
/// it. Spans on threads that do not listen have the id [`UNHEARD`].
#[derive(Default)]
struct Listener(Mutex<Vec<(Spans, usize)>>);

const UNHEARD: u64 = u64::MAX;

impl Listener {
    fn with<T>(&self, id: &Id, run: impl FnOnce(&mut State, usize) -> T) -> Option<T> {
        let index = usize::try_from(id.into_u64() - 1).ok()?;
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (spans, index) = all.get(index)?.clone();
        drop(all);
        let mut state = spans.lock();
        Some(run(&mut state, index))
    }
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
        let Some(spans) = Spans::of_thread() else {
            return Id::from_u64(UNHEARD);
        };
        let mut fields = BTreeMap::new();
        span.record(&mut Fields(&mut fields));
        let mut state = spans.lock();
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
        let index = state.spans.len() - 1;
        drop(state);
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push((spans, index));
        Id::from_u64(all.len() as u64)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        let mut fields = BTreeMap::new();
        values.record(&mut Fields(&mut fields));
        self.with(span, |state, index| {
            state.spans[index].fields.extend(fields)
        });
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let Some(spans) = Spans::of_thread() else {
            return;
        };
        let mut fields = BTreeMap::new();
        event.record(&mut Fields(&mut fields));
        let text: Vec<_> = fields
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let mut state = spans.lock();
        let inside = state.current();
        state.events.push(Heard {
            target: event.metadata().target(),
            text: text.join(" "),
            inside,
        });
    }

    fn enter(&self, span: &Id) {
        self.with(span, |state, index| state.inside.push(index));
    }

    fn exit(&self, span: &Id) {
        let left = self.with(span, |state, index| (state.inside.pop(), index));
        if let Some((left, index)) = left {
            assert_eq!(left, Some(index), "left in another order than entered");
        }
    }

    fn clone_span(&self, span: &Id) -> Id {
        self.with(span, |state, index| state.handles[index] += 1);
        span.clone()
    }

    fn try_close(&self, span: Id) -> bool {
        let closed = self.with(&span, |state, index| {
            state.handles[index] -= 1;
            let closed = state.handles[index] == 0;
            state.spans[index].is_closed = closed;
            closed
        });
        closed.unwrap_or(false)
    }
}
