//! [`Watch`]: reports one call for a lock to the subscriber and the observer.

use std::fmt;
use std::slice;
use std::sync::Arc;

use tracing::field::{Empty, display};
use tracing::{Span, span};

use super::{ClientCore, Hold};
use crate::base::clock::{self, Instant};
use crate::base::duration::rounded;
use crate::base::error::{Holder, LockError};
use crate::observe::{ACQUIRE, CallerLocation, LockLabels, outcome, spans_are_on};
use crate::observer::{Metric, SharedObserver};
use auto_mutex_protocol::client::Via;

/// Dropped before its end, it reports the call as cancelled.
#[derive(Debug)]
pub(crate) struct Watch {
    span: Span,
    observer: Option<SharedObserver>,
    labels: LockLabels,
    started: Instant,
    may_wait: bool,
    waiting: bool,
    over: bool,
}

impl Watch {
    /// Returns `None` if neither a subscriber nor an observer wants reports. `meta` identifies the caller.
    pub(crate) fn begin(
        core: &ClientCore,
        labels: LockLabels,
        name: &dyn fmt::Display,
        meta: &str,
        may_wait: bool,
    ) -> Option<Box<Self>> {
        let observer = core.observer();
        if observer.is_none() && !spans_are_on() {
            return None;
        }
        let span = tracing::debug_span!(
            target: ACQUIRE,
            "lock.acquire",
            name = %name,
            site = %CallerLocation(meta),
            kind = %labels.kind(),
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
            labels,
            started: clock::now(),
            may_wait,
            waiting: false,
            over: false,
        }))
    }

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
        let grants = || holds.iter().map(|hold| &hold.grant);
        if !self.span.is_disabled() {
            self.span
                .record("token", grants().map(|grant| grant.token).max());
            if let Some(behind) = grants().find_map(|grant| grant.behind.as_ref()) {
                self.span.record("holder", display(CallerLocation(behind)));
            }
        }
        let via = grants().map(|grant| grant.via).min();
        self.ended("acquired", via.unwrap_or(Via::Store));
    }

    pub(crate) fn failed(&mut self, error: &LockError) {
        if let Some(holder) = error.holder() {
            self.span.record("holder", display(holder));
        }
        self.ended(outcome(error, self.may_wait), Via::Store);
    }

    fn ended(&mut self, outcome: &'static str, via: Via) {
        self.over = true;
        let took = self.started.until(clock::now());
        let millis = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        self.span.record("waited_ms", millis);
        self.span.record("outcome", outcome);
        if self.waiting {
            self.note_waiting(-1);
        }
        if let Some(observer) = &self.observer {
            let via = match via {
                Via::Store => "store",
                Via::Handoff => "local",
                Via::Kept => "kept",
            };
            let labels = self.labels.ended(outcome, via);
            observer.record(Metric::AcquireDuration, &labels, took);
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if !self.over {
            self.ended("cancelled", Via::Store);
        }
    }
}

/// Logs at most one such warning per second and client. `meta` identifies the caller.
#[cold]
pub(crate) fn warn_of_timeout(core: &ClientCore, meta: &str, error: &LockError) {
    let (name, waited) = match error {
        LockError::Timeout { name, waited, .. } => (name, Some(*waited)),
        LockError::TooManyAttempts { name, .. } | LockError::Busy { name, .. } => (name, None),
        _ => return,
    };
    let Some(others) = core.timeouts.pass(clock::now()) else {
        return;
    };
    let holder = error.holder().map(Holder::to_string);
    let holder = holder.unwrap_or_else(|| "unknown".to_owned());
    let site = CallerLocation(meta);
    if let LockError::Busy { waiting, .. } = error {
        tracing::warn!(target: ACQUIRE, %name, waiting, %site, others, "a call was refused, because too many wait for the lock");
        return;
    }
    tracing::warn!(target: ACQUIRE, %name, waited = waited.map(rounded).map(debug), %holder, %site, others, "a call gave up waiting for a lock");
}
