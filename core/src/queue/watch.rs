//! [`Watch`]: reports one call for a lock to the subscriber and the observer. Also warns of calls that gave up.

use std::fmt;
use std::slice;
use std::sync::Arc;

use tracing::field::{Empty, display};
use tracing::{Span, span};

use super::{Hold, Member};
use crate::clock::Instant;
use crate::error::LockError;
use crate::observe::{
    ACQUIRE, CallerPlace, LockLabels, Metric, Outcome, SharedObserver, Via, spans_are_on,
};

/// Reports a call from its beginning to its end. If this value is dropped before the end, the call counts as cancelled.
#[derive(Debug)]
pub(crate) struct Watch {
    /// The span `lock.acquire`, which ends when this value is dropped.
    span: Span,
    observer: Option<SharedObserver>,
    labels: LockLabels,
    started: Instant,
    may_wait: bool,
    waiting: bool,
    over: bool,
}

pub(crate) struct Call<'a> {
    pub(crate) labels: LockLabels,
    pub(crate) name: &'a dyn fmt::Display,
    /// Identifies the caller: see [`Meta`](crate::store::Meta).
    pub(crate) meta: &'a str,
    pub(crate) may_wait: bool,
}

impl Watch {
    /// Begins to report the call that `call` describes. `None` if neither a subscriber nor an observer wants reports.
    #[inline]
    pub(crate) fn begin<'a>(
        observer: Option<&SharedObserver>,
        call: impl FnOnce() -> Call<'a>,
    ) -> Option<Box<Self>> {
        if observer.is_none() && !spans_are_on() {
            return None;
        }
        Self::begun(observer, call())
    }

    #[cold]
    fn begun(observer: Option<&SharedObserver>, call: Call<'_>) -> Option<Box<Self>> {
        let span = tracing::debug_span!(
            target: ACQUIRE,
            "lock.acquire",
            name = %call.name,
            site = %CallerPlace(call.meta),
            kind = %call.labels.kind(),
            token = Empty,
            waited_ms = Empty,
            outcome = Empty,
            holder = Empty,
        );
        if observer.is_none() && span.is_disabled() {
            return None;
        }
        Some(Box::new(Self {
            span,
            observer: observer.cloned(),
            labels: call.labels,
            started: Instant::now(),
            may_wait: call.may_wait,
            waiting: false,
            over: false,
        }))
    }

    /// Notes that the call was not granted at once and waits from now on.
    pub(crate) fn waits(&mut self) {
        if !self.waiting {
            self.waiting = true;
            self.note_waiting(1);
        }
    }

    fn note_waiting(&self, change: i64) {
        if let Some(observer) = &self.observer {
            observer.add(Metric::Waiting, &self.labels.pairs(), change);
        }
    }

    pub(crate) fn enter(&self) -> span::Entered<'_> {
        self.span.enter()
    }

    pub(crate) fn done(&mut self, result: &Result<Arc<Hold>, LockError>) {
        match result {
            Ok(hold) => self.granted(slice::from_ref(hold)),
            Err(error) => self.failed(error),
        }
    }

    pub(crate) fn granted(&mut self, holds: &[Arc<Hold>]) {
        let grants = || holds.iter().map(|hold| hold.grant());
        if !self.span.is_disabled() {
            self.span
                .record("token", grants().map(|grant| grant.token).max());
            if let Some(behind) = grants().find_map(|grant| grant.behind()) {
                self.span.record("holder", display(CallerPlace(behind)));
            }
        }
        let via = match grants().all(|grant| grant.local) {
            true => Via::Local,
            false => Via::Store,
        };
        self.ended(Outcome::Acquired, via);
    }

    pub(crate) fn failed(&mut self, error: &LockError) {
        if let Some(holder) = error.holder() {
            self.span.record("holder", display(holder));
        }
        self.ended(Outcome::of(error, self.may_wait), Via::Store);
    }

    fn ended(&mut self, outcome: Outcome, via: Via) {
        self.over = true;
        let took = self.started.until(Instant::now());
        let millis = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        self.span.record("waited_ms", millis);
        self.span.record("outcome", outcome.word());
        if self.waiting {
            self.note_waiting(-1);
        }
        if let Some(observer) = &self.observer {
            let labels = self.labels.ended(outcome, via);
            observer.record(Metric::AcquireDuration, &labels, took);
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if !self.over {
            self.ended(Outcome::Cancelled, Via::Store);
        }
    }
}

/// Warns of a call that gave up; `meta` identifies the caller. Logs at most one such warning a second for each client.
#[cold]
pub(crate) fn warn_of_timeout(member: &Member, meta: &str, error: &LockError) {
    let (LockError::Timeout { name, holder, .. } | LockError::TooManyAttempts { name, holder, .. }) =
        error
    else {
        return;
    };
    let Some(others) = member.timeouts.pass(Instant::now()) else {
        return;
    };
    let waited = match error {
        LockError::Timeout { waited, .. } => Some(*waited),
        _ => None,
    };
    let holder = holder.as_ref().map(|holder| holder.to_string());
    let holder = holder.unwrap_or_else(|| "unknown".to_owned());
    let site = CallerPlace(meta);
    tracing::warn!(target: ACQUIRE, %name, ?waited, %holder, %site, others, "a call gave up waiting for a lock");
}
