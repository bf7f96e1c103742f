//! [`Want`]: what a call asks for. [`Waiter`]: a call, and the promise of its lock.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

pub(crate) use auto_mutex_protocol::client::Patience;
use auto_mutex_protocol::client::{CallId, Caller};

use super::hold::Hold;
use super::warnings::Warned;
use crate::base::clock::Instant;
use crate::base::error::LockError;
use crate::base::task::{Home, TaskId};
use crate::base::wait::{DeferredWakes, Promise};
use crate::lease::Terms;
use crate::store::{Share, SharedStr};

#[derive(Clone, Debug)]
pub(crate) struct Want {
    pub(crate) share: Share,
    pub(crate) owner: Option<Arc<str>>,
    pub(crate) terms: Terms,
    pub(crate) patience: Patience,
    pub(crate) meta: SharedStr,
    pub(crate) label: &'static str,
    /// See [`Caller::relies`].
    pub(crate) relies: bool,
    /// The time waited by the requests that this one continues. `attempts` counts theirs, too.
    pub(crate) waited: Duration,
    pub(crate) attempts: u32,
    pub(crate) by: Requester,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Requester {
    pub(crate) blocking: bool,
    pub(crate) home: Option<Home>,
    /// The runtime whose worker the call blocks. This field and those below are set when a call enters a queue.
    pub(crate) blocks: Option<tokio::runtime::Id>,
    pub(crate) task: Option<TaskId>,
    /// The caller holds another lock of the client, so it may go on while the client drains.
    pub(crate) inside: bool,
    pub(crate) holds: Option<Arc<Vec<Arc<Hold>>>>,
}

impl Requester {
    /// `has_taken` tells whether a task holds a lock that it took by hand.
    pub(crate) fn is_nested(&self, has_taken: impl FnOnce(TaskId) -> bool) -> bool {
        self.inside || self.task.is_some_and(has_taken)
    }
}

#[derive(Debug)]
pub(crate) struct Waiter {
    pub(super) id: CallId,
    pub(crate) want: Want,
    pub(super) started: Instant,
    pub(super) deadline: Instant,
    /// Errors are rare, and a waiter without one is smaller if they are boxed.
    pub(super) promise: Promise<Result<Arc<Hold>, Box<LockError>>>,
    /// Only for a waiter that relies on its place: done when the store has queued it, or when it needs no place.
    pub(super) registered: Option<Box<Promise<()>>>,
    pub(super) warned: Warned,
}

impl Waiter {
    #[inline]
    pub(super) fn new(id: CallId, want: Want, now: Instant) -> Self {
        Self {
            id,
            deadline: want.patience.ends(now),
            registered: want.relies.then(|| Box::new(Promise::new())),
            want,
            started: now,
            promise: Promise::new(),
            warned: Warned::default(),
        }
    }

    pub(super) fn waited(&self, now: Instant) -> Duration {
        self.want.waited + self.started.until(now)
    }

    /// The request that continues this one after `attempts` attempts. With no time or retry left, it takes the lock
    /// only if it is free.
    pub(super) fn again(&self, attempts: u32, now: Instant) -> Want {
        let left = now.until(self.deadline);
        let patience = match self.want.patience {
            Patience::Queue(Some(_)) => Patience::block(Some(left)),
            Patience::Poll {
                retries,
                interval,
                block,
            } if attempts <= retries && !left.is_zero() => Patience::Poll {
                retries: retries - attempts,
                interval,
                block: block.map(|_| left),
            },
            Patience::Poll { .. } => Patience::NONE,
            patience @ (Patience::Queue(None) | Patience::Once { .. }) => patience,
        };
        Want {
            patience,
            waited: self.waited(now),
            attempts: self.want.attempts.saturating_add(attempts),
            ..self.want.clone()
        }
    }

    /// Returns `false` if the waiter has left.
    pub(super) fn obtain(&self, hold: Arc<Hold>, wakes: &mut DeferredWakes) -> bool {
        self.note_registered(wakes);
        self.promise.complete(Ok(hold), wakes).is_ok()
    }

    pub(super) fn fail(&self, error: LockError, wakes: &mut DeferredWakes) {
        self.note_registered(wakes);
        let _ = self.promise.complete(Err(Box::new(error)), wakes);
    }

    pub(super) fn note_registered(&self, wakes: &mut DeferredWakes) {
        if let Some(registered) = &self.registered {
            let _ = registered.complete((), wakes);
        }
    }
}

/// A waiter, for the rules.
#[derive(Clone, Debug)]
pub(super) struct Call(pub(super) Arc<Waiter>);

impl Deref for Call {
    type Target = Arc<Waiter>;

    fn deref(&self) -> &Arc<Waiter> {
        &self.0
    }
}

impl Caller for Call {
    #[inline]
    fn id(&self) -> CallId {
        self.0.id
    }

    #[inline]
    fn share(&self) -> &Share {
        &self.0.want.share
    }

    #[inline]
    fn owner(&self) -> Option<&Arc<str>> {
        self.0.want.owner.as_ref()
    }

    #[inline]
    fn terms(&self) -> Terms {
        self.0.want.terms
    }

    #[inline]
    fn patience(&self) -> Patience {
        self.0.want.patience
    }

    #[inline]
    fn meta(&self) -> &SharedStr {
        &self.0.want.meta
    }

    #[inline]
    fn relies(&self) -> bool {
        self.0.want.relies
    }

    #[inline]
    fn attempts(&self) -> u32 {
        self.0.want.attempts
    }

    #[inline]
    fn started(&self) -> Instant {
        self.0.started
    }

    #[inline]
    fn deadline(&self) -> Instant {
        self.0.deadline
    }

    fn waited(&self, now: Instant) -> Duration {
        self.0.waited(now)
    }
}
