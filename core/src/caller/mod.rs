//! [`Caller`]: who makes a call.
//!
//! Each call asks once, when it begins: which task or thread runs here, which client is in force for it, and which locks
//! it holds. Re-entry, scopes, self-deadlocks, the search for deadlocks, the lock order and the records in the store use
//! this one answer. A task holds
//!
//! - the locks of the protected calls around the running code: [`frames`] has them, as [`run`] and sync bodies enter them;
//! - the locks that it took by hand through a reentrant handle: [`Stay`](crate::queue::Stay). Any other guard counts for
//!   no task, because it may be passed to another one.
//!
//! A spawned task is another task. This folder does not know how a lock is obtained.

mod body;
mod frames;
mod held;
mod run;
mod scope;

use std::sync::Arc;

use self::held::{HeldLock, HeldLocks};
use crate::lease::Bounds;
use crate::name::Name;
use crate::queue::{Hold, Holds, OpenClient, Requester, Want, held_by_hand};
use crate::store::Meta;
use crate::task::{Home, TaskId};

pub(crate) use self::body::BodySpan;
pub(crate) use frames::{enter, enter_body};
pub(crate) use run::{Around, Loss, run};
pub(crate) use scope::{blocking_scope, scope};

/// The task or thread that makes a call, when the call begins.
#[derive(Debug, Default)]
pub(crate) struct Caller {
    /// The call blocks its thread while it waits.
    blocking: bool,
    /// The client of the innermost scope around the call.
    scope: Option<Arc<OpenClient>>,
    locks: HeldLocks,
}

impl Caller {
    /// The running task or thread.
    #[inline]
    pub(crate) fn current(blocking: bool) -> Self {
        let mut caller = Self {
            blocking,
            ..Self::default()
        };
        held_by_hand(blocking, |hold| {
            let bounds = Bounds::default();
            caller.locks.push(HeldLock { hold, bounds });
        });
        frames::scan(&mut caller);
        caller
    }

    /// Whether the call blocks its thread while it waits.
    pub(crate) fn is_blocking(&self) -> bool {
        self.blocking
    }

    /// The client of the innermost scope around the call, if there is one.
    pub(crate) fn scope(&self) -> Option<&Arc<OpenClient>> {
        self.scope.as_ref()
    }

    /// The locks that the caller holds, the outermost first. They may belong to any client.
    pub(crate) fn holds(&self) -> impl Iterator<Item = &Arc<Hold>> + Clone {
        let holds = self.locks.iter().map(|lock| &lock.hold);
        holds.filter(|hold| !hold.is_released())
    }

    /// Searches for a hold of `name` for which `suits` is true; returns it with the bounds of its body. Of several such
    /// holds, returns the innermost for which `best` is also true. If `best` is true for none of them, returns the
    /// innermost.
    #[inline]
    pub(crate) fn find(
        &self,
        client: u64,
        name: &Name,
        suits: impl Fn(&Hold) -> bool,
        best: impl Fn(&Hold) -> bool,
    ) -> Option<Holds> {
        let is_meant = |hold: &Hold| hold.client_id() == client && hold.name() == name;
        let mut found = self.locks.iter().rev();
        let mut found = found
            .by_ref()
            .filter(|lock| is_meant(&lock.hold) && suits(&lock.hold));
        let first = found.next()?;
        let chosen = match best(&first.hold) {
            true => first,
            false => found.find(|lock| best(&lock.hold)).unwrap_or(first),
        };
        Some(Holds::from(chosen.hold.clone()).within(chosen.bounds.clone()))
    }

    /// Whether the caller holds a lock of this client.
    fn is_inside(&self, client: u64) -> bool {
        self.holds()
            .any(|hold| hold.client_id() == client && hold.is_valid())
    }

    /// Who makes a request that does not enter a queue.
    #[inline]
    pub(crate) fn requester(&self) -> Requester {
        Requester {
            blocking: self.blocking,
            home: Home::current(self.blocking),
            ..Requester::default()
        }
    }

    /// Completes a request that enters a queue of `client`: notes who asks, and which locks the caller holds. `more` are
    /// locks that the call itself has taken before.
    pub(crate) fn sign(&self, want: &mut Want, client: u64, more: &[Arc<Hold>]) {
        want.by.task = TaskId::current(self.blocking);
        want.by.inside = self.is_inside(client);
        // A wait for a signal can end without the release of a lock.
        if want.share.capacity == 0 {
            return;
        }
        let mut holds: Vec<Arc<Hold>> = Vec::new();
        for hold in self.holds().chain(more) {
            if !holds.iter().any(|known| Arc::ptr_eq(known, hold)) {
                holds.push(hold.clone());
            }
        }
        // Nearly every call is by a task that holds no lock.
        if holds.is_empty() {
            return;
        }
        let mut names: Vec<Name> = Vec::new();
        for hold in &holds {
            if hold.client_id() == client && !names.contains(hold.name()) {
                names.push(hold.name().clone());
            }
        }
        want.meta = Meta::holding(&want.meta, &names);
        want.by.holds = Some(Arc::new(holds));
    }
}
