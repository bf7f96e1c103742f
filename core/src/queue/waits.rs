//! The waits, of all clients of this process, whose tasks hold locks: what the search for deadlocks asks for.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, Weak};

use auto_mutex_protocol::client::Input;
use auto_mutex_protocol::deadlock::{Nested, WaitId};

use super::client::ClientCore;
use super::hold::Hold;
use super::lock_queue::LockQueue;
use super::waiter::Waiter;
use crate::base::clock;
use crate::base::error::LockError;
use crate::base::name::escape;
use crate::base::process::PerProcess;
use crate::config::Deadlock;
use crate::deadlock::{Wait, WaitingHold};
use crate::store::{Engine, RandomId, Ticket};

/// A wait in the list, which its drop removes.
pub(super) struct TaskWait {
    pub(super) id: WaitId,
    queue: Arc<LockQueue>,
    waiter: Arc<Waiter>,
    holds: Arc<Vec<Arc<Hold>>>,
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
pub(super) fn find(client: u64, wait: WaitId) -> Option<Arc<TaskWait>> {
    WAITS.lock().all.get(&(client, wait))?.upgrade()
}

impl LockQueue {
    /// `None` if the task of the call holds no locks, or can't be part of a deadlock.
    pub(super) fn note_nested(self: &Arc<Self>, waiter: &Arc<Waiter>) -> Option<Arc<TaskWait>> {
        let holds = waiter.by.holds.clone()?;
        let mode = self.core.settings().deadlock;
        if !waiter.call.want.patience.queues() || mode == Deadlock::Off {
            return None;
        }
        let wait = Arc::new(TaskWait {
            id: WaitId::random(),
            queue: self.clone(),
            waiter: waiter.clone(),
            holds,
        });
        let mut waits = WAITS.lock();
        waits.all.insert(wait.key(), Arc::downgrade(&wait));
        for hold in &*wait.holds {
            let of_hold = waits.of_holds.entry(key(hold)).or_default();
            of_hold.push(Arc::downgrade(&wait));
        }
        drop(waits);
        self.core.look_for_deadlock(&wait);
        Some(wait)
    }
}

impl TaskWait {
    fn key(&self) -> (u64, WaitId) {
        (self.queue.core.id(), self.id)
    }

    /// Whether the client fails a call of a deadlock.
    pub(super) fn fails(&self) -> bool {
        self.queue.core.settings().deadlock == Deadlock::Fail
    }

    /// `None` if the call no longer waits.
    fn view(&self) -> Option<Wait> {
        let (slot, call) = (self.queue.lock(), &self.waiter.call);
        let (_, after) = slot.state.waits_after(call.id)?;
        Some(Wait {
            id: self.id,
            name: self.queue.name.clone(),
            units: call.want.share.units,
            after,
            waited: call.waited(clock::now()),
            meta: escape(&call.want.meta).to_string().into(),
            fails: self.fails(),
        })
    }

    pub(super) fn fail(&self, error: LockError) {
        let call = self.waiter.call.id;
        self.queue.step(|step| {
            if step.slot.state.waits_after(call).is_some() {
                let calls = vec![call];
                step.on(Input::Dismiss { calls });
                self.waiter.fail(error, step.wakes);
            }
        });
    }
}

impl Drop for TaskWait {
    fn drop(&mut self) {
        let mut waits = WAITS.lock();
        waits.all.remove(&self.key());
        for key in self.holds.iter().map(key) {
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

fn key(hold: &Arc<Hold>) -> (u64, Ticket) {
    (hold.client_id(), hold.grant.ticket)
}

/// Whether a client is this one, or uses the same store.
fn is_here(core: &ClientCore, client: u64, engine: &dyn Engine) -> bool {
    core.id() == client || core.settings().engine.is_same_store(engine)
}

/// The holds of a task that waits, each with the waits of the task in the store of `client`.
pub(super) fn holds_of(wait: WaitId, client: u64, engine: &dyn Engine) -> Vec<WaitingHold> {
    let wait = find(client, wait);
    let holds = wait.iter().flat_map(|wait| &*wait.holds);
    let here = holds.filter(|hold| is_here(&hold.queue.core, client, engine));
    here.filter_map(|hold| waits_of(hold.client_id(), engine, hold.grant.ticket))
        .collect()
}

/// `None` if the task of the hold waits for nothing in the store of `client`.
pub(super) fn waits_of(client: u64, engine: &dyn Engine, ticket: Ticket) -> Option<WaitingHold> {
    // `view` locks a queue, so the list must be unlocked first.
    let found = WAITS.lock().of_holds.get(&(client, ticket)).cloned()?;
    let tasks = found.iter().filter_map(Weak::upgrade);
    WaitingHold::of(tasks.filter_map(|task| {
        let is_here = is_here(&task.queue.core, client, engine);
        let same = |hold: &&Arc<Hold>| key(hold) == (client, ticket);
        let hold = task.holds.iter().find(same).filter(|_| is_here)?;
        let grant = &hold.grant;
        Some(Nested {
            hold: WaitingHold {
                ticket: grant.ticket,
                token: grant.token,
                units: hold.weight(),
                held: hold.held(),
                meta: escape(&hold.want().meta).to_string().into(),
                waits: Vec::new(),
            },
            ended: !hold.is_valid(),
            wait: task.view(),
        })
    }))
}
