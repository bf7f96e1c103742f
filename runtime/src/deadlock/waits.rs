//! The waits of this process whose tasks hold locks, of all its clients.
//!
//! A task may hold a lock of one client and wait for a lock of another. So the list belongs to the process.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::Deadlock;
use super::graph::{Wait, WaitId, WaitingHold};
use crate::config::Endpoint;
use crate::error::LockError;
use crate::name::Name;
use crate::process::forks;
use crate::store::{SharedStr, Ticket};

/// A lock that a task holds.
pub(crate) trait HeldLock: Send + Sync {
    /// The client that holds it.
    fn client(&self) -> u64;
    /// Whether it is in the store at `endpoint`, which other clients of this process may use, too.
    fn is_at(&self, endpoint: &Endpoint) -> bool;
    fn ticket(&self) -> Ticket;
    /// The place where it was taken, encoded for the store.
    fn meta(&self) -> SharedStr;
    fn token(&self) -> u64;
    /// The units of the capacity that it uses.
    fn units(&self) -> u32;
    fn held(&self) -> Duration;
    fn is_held(&self) -> bool;
}

/// A call that waits.
pub(crate) trait Waiting: Send + Sync {
    /// The client that waits.
    fn client(&self) -> u64;
    /// What the client does about a deadlock.
    fn mode(&self) -> Deadlock;
    /// See [`HeldLock::is_at`].
    fn is_at(&self, endpoint: &Endpoint) -> bool;
    /// `None`: it does not wait any more.
    fn view(&self) -> Option<WaitView>;
    /// Ends the wait with `error`, if it still waits.
    fn fail(&self, error: LockError);
}

/// A wait at one moment.
#[derive(Debug)]
pub(crate) struct WaitView {
    pub(crate) name: Name,
    pub(crate) units: u32,
    /// See [`Wait::after`].
    pub(crate) after: Option<Ticket>,
    pub(crate) waited: Duration,
    pub(crate) meta: SharedStr,
}

/// A wait of a task, and the locks that the task holds.
pub(crate) struct TaskWait {
    id: WaitId,
    waiting: Box<dyn Waiting>,
    holds: Vec<Arc<dyn HeldLock>>,
}

impl TaskWait {
    pub(crate) fn id(&self) -> WaitId {
        self.id
    }

    /// Ends it with `error`, if it still waits.
    pub(crate) fn fail(&self, error: LockError) {
        self.waiting.fail(error);
    }

    pub(crate) fn mode(&self) -> Deadlock {
        self.waiting.mode()
    }

    /// `None` if it is over.
    pub(crate) fn wait(&self) -> Option<Wait> {
        let view = self.waiting.view()?;
        Some(Wait {
            id: self.id,
            name: view.name,
            units: view.units,
            after: view.after,
            waited: view.waited,
            meta: view.meta,
            mode: self.mode(),
        })
    }

    /// The holds of its task in the store of `client`, with their waits there.
    pub(super) fn holds_at(&self, client: u64, endpoint: &Endpoint) -> Vec<WaitingHold> {
        let here = |hold: &&Arc<dyn HeldLock>| hold.client() == client || hold.is_at(endpoint);
        let holds = self.holds.iter().filter(here);
        let waiting = |hold: &Arc<dyn HeldLock>| waits_of(hold.client(), endpoint, hold.ticket());
        holds.filter_map(waiting).collect()
    }
}

/// The hold that `client` has with `ticket`, with the waits of its task at the store of that client. `None` if the task
/// waits for nothing there.
pub(crate) fn waits_of(client: u64, endpoint: &Endpoint, ticket: Ticket) -> Option<WaitingHold> {
    // The waits lock their queues, so the list must not be locked then.
    let found = lock().get(&(client, ticket)).cloned()?;
    let is_here =
        |wait: &&Arc<TaskWait>| wait.waiting.client() == client || wait.waiting.is_at(endpoint);
    let mut held: Option<WaitingHold> = None;
    for task in found.iter().filter(is_here) {
        let same = |hold: &&Arc<dyn HeldLock>| hold.client() == client && hold.ticket() == ticket;
        // A ticket that was handed on within the process is another hold.
        let hold = task.holds.iter().find(same).filter(|hold| hold.is_held());
        let (Some(hold), Some(wait)) = (hold, task.wait()) else {
            continue;
        };
        let held = held.get_or_insert_with(|| WaitingHold {
            ticket,
            token: hold.token(),
            units: hold.units(),
            held: hold.held(),
            meta: hold.meta(),
            waits: Vec::new(),
        });
        if held.token == hold.token() {
            held.waits.push(wait);
        }
    }
    held
}

/// By the client and the ticket of a hold: the waits of its task.
type Waits = BTreeMap<(u64, Ticket), Vec<Arc<TaskWait>>>;

/// A forked child has another list than its parent: a thread of the parent may have locked that one at the fork.
static WAITS: [Mutex<Waits>; 8] = [const { Mutex::new(Waits::new()) }; 8];

fn lock() -> MutexGuard<'static, Waits> {
    let waits = &WAITS[forks() as usize % WAITS.len()];
    waits.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An entry of the list, until it is dropped.
#[derive(Debug)]
pub(crate) struct Registered(Arc<TaskWait>);

impl Registered {
    /// `holds` are the locks of the task that waits.
    pub(crate) fn new(waiting: Box<dyn Waiting>, holds: Vec<Arc<dyn HeldLock>>) -> Self {
        let wait = Arc::new(TaskWait {
            id: WaitId::random(),
            waiting,
            holds,
        });
        let mut waits = lock();
        for hold in &wait.holds {
            let key = (hold.client(), hold.ticket());
            waits.entry(key).or_default().push(wait.clone());
        }
        drop(waits);
        Self(wait)
    }

    pub(crate) fn wait(&self) -> &Arc<TaskWait> {
        &self.0
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        let mut waits = lock();
        for hold in &self.0.holds {
            let key = (hold.client(), hold.ticket());
            if let Some(of_hold) = waits.get_mut(&key) {
                of_hold.retain(|wait| wait.id != self.0.id);
                if of_hold.is_empty() {
                    waits.remove(&key);
                }
            }
        }
    }
}

impl fmt::Debug for TaskWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskWait")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}
