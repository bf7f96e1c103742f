//! [`BodySpan`]: the span `lock.held` around a body that runs under a lock.

use tracing::Span;
use tracing::span::{Entered, EnteredSpan};

use crate::base::name::NameList;
use crate::observe::{CallerLocation, HOLD, spans_are_on};
use crate::queue::Holds;

/// Entered during each poll of an async body, never across an await. Empty if no subscriber wants the span.
#[derive(Debug, Default)]
pub(crate) struct BodySpan(Option<Box<Span>>);

#[cold]
fn span(holds: &Holds) -> Option<Span> {
    let first = holds.first();
    let span = tracing::debug_span!(
        target: HOLD,
        "lock.held",
        name = %NameList(holds.all().iter().map(|hold| hold.name())),
        site = %CallerLocation(&first.want().meta),
        kind = %first.labels().kind(),
        token = holds.token(),
        waited_ms = u64::try_from(first.waited().as_millis()).unwrap_or(u64::MAX),
    );
    (!span.is_disabled()).then_some(span)
}

impl BodySpan {
    #[inline]
    pub(crate) fn of(holds: &Holds) -> Self {
        let mut span = Self::default();
        span.begin(holds);
        span
    }

    #[inline]
    pub(crate) fn begin(&mut self, holds: &Holds) {
        if spans_are_on() {
            self.0 = span(holds).map(Box::new);
        }
    }

    #[inline]
    pub(crate) fn end(&mut self) {
        self.0 = None;
    }

    /// Enters the span until [`exit`](Self::exit), for the drop of the body.
    pub(crate) fn enter_to_end(&self) {
        if let Some(span) = &self.0 {
            span.with_subscriber(|(id, subscriber)| subscriber.enter(id));
        }
    }

    pub(crate) fn exit(&self) {
        if let Some(span) = &self.0 {
            span.with_subscriber(|(id, subscriber)| subscriber.exit(id));
        }
    }

    #[inline]
    pub(crate) fn enter(&self) -> Option<Entered<'_>> {
        self.0.as_ref().map(|span| span.enter())
    }
}

/// Enters the span of a sync body that begins now. Dropping the result leaves it.
#[inline]
pub(crate) fn enter_span(holds: &Holds) -> Option<EnteredSpan> {
    let span = spans_are_on().then(|| span(holds)).flatten();
    span.map(Span::entered)
}
