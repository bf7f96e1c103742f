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
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
use tracing_subscriber::registry::{LookupSpan, Registry};

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
    /// The event's level.
    pub level: Level,
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
            let listener = Registry::default().with(Listener);
            tracing::subscriber::set_global_default(listener).expect("the only one");
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

    /// The texts of all warnings and errors, in order.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let mut events = self.events();
        events.retain(|event| event.level <= Level::WARN);
        events.into_iter().map(|event| event.text).collect()
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

/// The record and the index of a span on a thread that listens.
struct Place(Spans, usize);

/// Runs `run` with the record of a span, if it has one.
fn with<S, T>(
    id: &Id,
    context: &Context<'_, S>,
    run: impl FnOnce(&mut State, usize) -> T,
) -> Option<T>
where
    S: for<'a> LookupSpan<'a> + Subscriber,
{
    let span = context.span(id)?;
    let extensions = span.extensions();
    let Place(spans, index) = extensions.get()?;
    Some(run(&mut spans.lock(), *index))
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

struct Listener;

impl<S: for<'a> LookupSpan<'a> + Subscriber> Layer<S> for Listener {
    fn on_new_span(&self, span: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(spans) = Spans::of_thread() else {
            return;
        };
        let mut fields = BTreeMap::new();
        span.record(&mut Fields(&mut fields));
        let mut state = spans.lock();
        let (parent, metadata) = (state.current(), span.metadata());
        state.spans.push(Seen {
            name: metadata.name(),
            target: metadata.target(),
            parent,
            fields,
            is_closed: false,
        });
        let index = state.spans.len() - 1;
        drop(state);
        let span = context.span(id).expect("a new span");
        span.extensions_mut().insert(Place(spans, index));
    }

    fn on_record(&self, span: &Id, values: &Record<'_>, context: Context<'_, S>) {
        with(span, &context, |state, index| {
            values.record(&mut Fields(&mut state.spans[index].fields));
        });
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
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
            level: *event.metadata().level(),
            target: event.metadata().target(),
            text: text.join(" "),
            inside,
        });
    }

    fn on_enter(&self, span: &Id, context: Context<'_, S>) {
        with(span, &context, |state, index| state.inside.push(index));
    }

    fn on_exit(&self, span: &Id, context: Context<'_, S>) {
        let left = with(span, &context, |state, index| (state.inside.pop(), index));
        if let Some((left, index)) = left {
            assert_eq!(left, Some(index), "left in another order than entered");
        }
    }

    fn on_close(&self, span: Id, context: Context<'_, S>) {
        with(&span, &context, |state, index| {
            state.spans[index].is_closed = true;
        });
    }
}
