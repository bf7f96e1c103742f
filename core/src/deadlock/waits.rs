//! The waits of this process whose tasks hold locks. A task may hold a lock of one client and wait for one of another,
//! so the list belongs to the process.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::graph::{Wait, WaitId, WaitingHold};
use crate::config::Deadlock;
use crate::error::LockError;
use crate::process::PerProcess;
use crate::store::{Engine, Ticket};

pub(crate) trait HeldLock: Send + Sync {
    fn client(&self) -> u64;
    /// Whether the lock is in the store of `engine`, which other clients of this process may use, too.
    fn is_at(&self, engine: &dyn Engine) -> bool;
    fn ticket(&self) -> Ticket;
    /// The hold at this moment, without the waits of its task; `None` if it has ended.
    fn view(&self) -> Option<WaitingHold>;
}

pub(crate) trait Waiting: Send + Sync {
    fn client(&self) -> u64;
    /// The reaction of the client to a deadlock.
    fn mode(&self) -> Deadlock;
    /// See [`HeldLock::is_at`].
    fn is_at(&self, engine: &dyn Engine) -> bool;
    /// The wait at this moment, with `id` as its id; `None` if the call no longer waits.
    fn view(&self, id: WaitId) -> Option<Wait>;
    /// Ends the wait with `error`, if the call still waits.
    fn fail(&self, error: LockError);
}

pub(crate) struct TaskWait {
    id: WaitId,
    waiting: Box<dyn Waiting>,
    holds: Vec<Arc<dyn HeldLock>>,
}

impl TaskWait {
    pub(crate) fn id(&self) -> WaitId {
        self.id
    }

    pub(crate) fn fail(&self, error: LockError) {
        self.waiting.fail(error);
    }

    pub(crate) fn mode(&self) -> Deadlock {
        self.waiting.mode()
    }

    /// The wait at this moment; `None` if it is over.
    pub(crate) fn wait(&self) -> Option<Wait> {
        self.waiting.view(self.id)
    }

    /// The holds of the task in the store of `client`, each with the waits of its task there.
    pub(super) fn holds_at(&self, client: u64, engine: &dyn Engine) -> Vec<WaitingHold> {
        let here = |hold: &&Arc<dyn HeldLock>| hold.client() == client || hold.is_at(engine);
        let holds = self.holds.iter().filter(here);
        let waiting = |hold: &Arc<dyn HeldLock>| waits_of(hold.client(), engine, hold.ticket());
        holds.filter_map(waiting).collect()
    }
}

/// The hold that `client` has with `ticket`, with the waits of its task at the store of that client. `None` if the task
/// waits for nothing there.
pub(crate) fn waits_of(client: u64, engine: &dyn Engine, ticket: Ticket) -> Option<WaitingHold> {
    // `view` locks a queue, so the list of waits must be unlocked before.
    let found = lock().get(&(client, ticket)).cloned()?;
    let is_here =
        |wait: &&Arc<TaskWait>| wait.waiting.client() == client || wait.waiting.is_at(engine);
    let mut held: Option<WaitingHold> = None;
    for task in found.iter().filter(is_here) {
        let same = |hold: &&Arc<dyn HeldLock>| hold.client() == client && hold.ticket() == ticket;
        // If the ticket was handed to another waiter of this process, this hold has ended.
        let hold = task.holds.iter().find(same).and_then(|hold| hold.view());
        let (Some(hold), Some(wait)) = (hold, task.wait()) else {
            continue;
        };
        let token = hold.token;
        let held = held.get_or_insert(hold);
        if held.token == token {
            held.waits.push(wait);
        }
    }
    held
}

/// All waits of the process. The key is a hold of the waiting task: its client and ticket.
type Waits = BTreeMap<(u64, Ticket), Vec<Arc<TaskWait>>>;

static WAITS: PerProcess<Mutex<Waits>> = PerProcess::new(Mutex::default);

fn lock() -> MutexGuard<'static, Waits> {
    let waits = WAITS.get().lock();
    waits.unwrap_or_else(PoisonError::into_inner)
}

/// An entry of the list. Dropping this value removes the entry.
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
