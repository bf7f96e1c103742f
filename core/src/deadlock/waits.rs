//! The waits, of all clients of this process, whose tasks hold locks.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, Weak};

use super::graph::{Wait, WaitId, WaitingHold};
use crate::base::error::LockError;
use crate::base::process::PerProcess;
use crate::config::Deadlock;
use crate::store::{Engine, RandomId, Ticket};

pub(crate) trait HeldLock: Send + Sync {
    fn client(&self) -> u64;
    /// Needed because other clients of this process may use the same store.
    fn is_at(&self, engine: &dyn Engine) -> bool;
    fn ticket(&self) -> Ticket;
    /// Without the waits of its task; `None` if the hold has ended.
    fn view(&self) -> Option<WaitingHold>;
}

pub(crate) trait Waiting: Send + Sync {
    fn is_at(&self, engine: &dyn Engine) -> bool;
    /// `None` if the call no longer waits.
    fn view(&self, id: WaitId) -> Option<Wait>;
    fn fail(&self, error: LockError);
}

/// A wait in the list, which its drop removes.
pub(crate) struct TaskWait {
    id: WaitId,
    client: u64,
    /// What the client does about a deadlock.
    pub(crate) mode: Deadlock,
    waiting: Box<dyn Waiting>,
    holds: Vec<Arc<dyn HeldLock>>,
}

/// Keyed by the client and ticket of a hold of the waiting task.
type Waits = BTreeMap<(u64, Ticket), Vec<Weak<TaskWait>>>;

static WAITS: PerProcess<Mutex<Waits>> = PerProcess::new(Mutex::default);

impl TaskWait {
    pub(crate) fn new(
        client: u64,
        mode: Deadlock,
        waiting: Box<dyn Waiting>,
        holds: Vec<Arc<dyn HeldLock>>,
    ) -> Arc<Self> {
        let wait = Arc::new(Self {
            id: WaitId::random(),
            client,
            mode,
            waiting,
            holds,
        });
        let mut waits = WAITS.lock();
        for key in wait.keys() {
            waits.entry(key).or_default().push(Arc::downgrade(&wait));
        }
        drop(waits);
        wait
    }

    fn keys(&self) -> impl Iterator<Item = (u64, Ticket)> {
        let holds = self.holds.iter();
        holds.map(|hold| (hold.client(), hold.ticket()))
    }

    pub(crate) fn id(&self) -> WaitId {
        self.id
    }

    pub(crate) fn fail(&self, error: LockError) {
        self.waiting.fail(error);
    }

    /// The holds of the task, each with the waits of the task in that store.
    pub(super) fn holds_at(&self, client: u64, engine: &dyn Engine) -> Vec<WaitingHold> {
        let here = |hold: &&Arc<dyn HeldLock>| hold.client() == client || hold.is_at(engine);
        let holds = self.holds.iter().filter(here);
        let waiting = |hold: &Arc<dyn HeldLock>| waits_of(hold.client(), engine, hold.ticket());
        holds.filter_map(waiting).collect()
    }
}

impl Drop for TaskWait {
    fn drop(&mut self) {
        let mut waits = WAITS.lock();
        for key in self.keys() {
            if let Some(of_hold) = waits.get_mut(&key) {
                // This drops the last reference to the value.
                of_hold.retain(|wait| wait.strong_count() > 0);
                if of_hold.is_empty() {
                    waits.remove(&key);
                }
            }
        }
    }
}

/// `None` if the task of the hold waits for nothing in the store of `client`.
pub(super) fn waits_of(client: u64, engine: &dyn Engine, ticket: Ticket) -> Option<WaitingHold> {
    // `view` locks a queue, so the list must be unlocked first.
    let found = WAITS.lock().get(&(client, ticket)).cloned()?;
    let mut held: Option<WaitingHold> = None;
    for task in found.iter().filter_map(Weak::upgrade) {
        let is_here = task.client == client || task.waiting.is_at(engine);
        let same = |hold: &&Arc<dyn HeldLock>| hold.client() == client && hold.ticket() == ticket;
        // This hold has ended if the ticket was handed off to another waiter of this process.
        let hold = task.holds.iter().find(same).and_then(|hold| hold.view());
        if let Some(hold) = hold.filter(|_| is_here)
            && let Some(wait) = task.waiting.view(task.id)
        {
            let token = hold.token;
            let held = held.get_or_insert(hold);
            if held.token == token {
                held.waits.push(wait);
            }
        }
    }
    held
}
