//! The waits, of all clients of this process, whose tasks hold locks.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, Weak};

use auto_mutex_protocol::deadlock::{Nested, WaitId};

use super::{Wait, WaitingHold};
use crate::base::error::LockError;
use crate::base::process::PerProcess;
use crate::config::Deadlock;
use crate::store::{Engine, RandomId, Ticket};

pub(crate) trait HeldLock: Send + Sync {
    fn client(&self) -> u64;
    /// Needed because other clients of this process may use the same store.
    fn is_at(&self, engine: &dyn Engine) -> bool;
    fn ticket(&self) -> Ticket;
    fn has_ended(&self) -> bool;
    /// Without the waits of its task.
    fn view(&self) -> WaitingHold;
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

#[derive(Default)]
struct Waits {
    /// Keyed by the client, too: ids of tests come back.
    all: BTreeMap<(u64, WaitId), Weak<TaskWait>>,
    /// Keyed by the client and ticket of a hold of the waiting task.
    of_holds: BTreeMap<(u64, Ticket), Vec<Weak<TaskWait>>>,
}

static WAITS: PerProcess<Mutex<Waits>> = PerProcess::new(Mutex::default);

/// The wait of a client, unless it is over.
pub(crate) fn find(client: u64, wait: WaitId) -> Option<Arc<TaskWait>> {
    WAITS.lock().all.get(&(client, wait))?.upgrade()
}

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
        waits.all.insert((client, wait.id), Arc::downgrade(&wait));
        for key in wait.keys() {
            let of_hold = waits.of_holds.entry(key).or_default();
            of_hold.push(Arc::downgrade(&wait));
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
}

impl Drop for TaskWait {
    fn drop(&mut self) {
        let mut waits = WAITS.lock();
        waits.all.remove(&(self.client, self.id));
        for key in self.keys() {
            if let Some(of_hold) = waits.of_holds.get_mut(&key) {
                // This drops the last reference to the value.
                of_hold.retain(|wait| wait.strong_count() > 0);
                if of_hold.is_empty() {
                    waits.of_holds.remove(&key);
                }
            }
        }
    }
}

/// The holds of a task that waits, each with the waits of the task in the store of `client`.
pub(crate) fn holds_of(wait: WaitId, client: u64, engine: &dyn Engine) -> Vec<WaitingHold> {
    let wait = find(client, wait);
    let holds = wait.iter().flat_map(|wait| &wait.holds);
    let here = holds.filter(|hold| hold.client() == client || hold.is_at(engine));
    here.filter_map(|hold| waits_of(hold.client(), engine, hold.ticket()))
        .collect()
}

/// `None` if the task of the hold waits for nothing in the store of `client`.
pub(crate) fn waits_of(client: u64, engine: &dyn Engine, ticket: Ticket) -> Option<WaitingHold> {
    // `view` locks a queue, so the list must be unlocked first.
    let found = WAITS.lock().of_holds.get(&(client, ticket)).cloned()?;
    let tasks = found.iter().filter_map(Weak::upgrade);
    WaitingHold::of(tasks.filter_map(|task| {
        let is_here = task.client == client || task.waiting.is_at(engine);
        let same = |hold: &&Arc<dyn HeldLock>| hold.client() == client && hold.ticket() == ticket;
        let hold = task.holds.iter().find(same).filter(|_| is_here)?;
        Some(Nested {
            hold: hold.view(),
            ended: hold.has_ended(),
            wait: task.waiting.view(task.id),
        })
    }))
}
