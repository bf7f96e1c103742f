//! [`Waiter`]: a call, who makes it, and the promise of its lock.

use std::sync::Arc;

use auto_mutex_protocol::client::{Call, CallId};
pub(crate) use auto_mutex_protocol::client::{Patience, Want};

use super::hold::Hold;
use super::warnings::Warned;
use crate::base::clock::Instant;
use crate::base::error::LockError;
use crate::base::task::{Home, TaskId};
use crate::base::wait::{DeferredWakes, Promise};

/// Who makes a call.
#[derive(Clone, Debug, Default)]
pub(crate) struct Requester {
    pub(crate) label: &'static str,
    pub(crate) blocking: bool,
    pub(crate) home: Option<Home>,
    /// The runtime whose worker the call blocks.
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
    pub(super) call: Call,
    pub(super) by: Requester,
    /// Errors are rare, and a waiter without one is smaller if they are boxed.
    pub(super) promise: Promise<Result<Arc<Hold>, Box<LockError>>>,
    /// Only for a waiter that relies on its place: done when the store has queued it, or when it needs no place.
    pub(super) registered: Option<Box<Promise<()>>>,
    pub(super) warned: Warned,
}

impl Waiter {
    #[inline]
    pub(super) fn new(id: CallId, want: Want, by: Requester, started: Instant) -> Self {
        let registered = want.share.notifies();
        Self {
            call: Call { id, want, started },
            by,
            promise: Promise::default(),
            registered: registered.then(|| Box::new(Promise::default())),
            warned: Warned::default(),
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

// By its path, because a type of the public interface has the same name.
impl AsRef<Call> for self::Waiter {
    #[inline]
    fn as_ref(&self) -> &Call {
        &self.call
    }
}
