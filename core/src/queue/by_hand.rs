//! The guards that stay with the tasks that took them.
//!
//! A guard may be passed to another task, and nothing notices that. So a guard that was taken by hand counts for no task,
//! unless its handle is reentrant: such a handle declares that its guards stay with the task that took them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::hold::Hold;
use crate::process::PerProcess;
use crate::task::TaskId;

/// Counts a hold as held by a task, until this value is dropped. Each guard has its own.
#[derive(Debug)]
pub(crate) struct Stay {
    task: TaskId,
    hold: Weak<Hold>,
}

/// The holds whose guards stay with their tasks, of all clients of this process. A hold is listed once for each guard.
#[derive(Default)]
struct Stays {
    /// The number of guards, so that nearly every call need not lock the mutex.
    count: AtomicUsize,
    by_task: Mutex<HashMap<TaskId, Vec<Weak<Hold>>>>,
}

impl Stays {
    fn lock(&self) -> MutexGuard<'_, HashMap<TaskId, Vec<Weak<Hold>>>> {
        self.by_task.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

static STAYS: PerProcess<Stays> = PerProcess::new(Stays::default);

impl Stay {
    pub(crate) fn new(hold: &Arc<Hold>, task: TaskId) -> Self {
        let hold = Arc::downgrade(hold);
        let all = STAYS.get();
        all.lock().entry(task).or_default().push(hold.clone());
        all.count.fetch_add(1, Ordering::Release);
        Self { task, hold }
    }
}

impl Drop for Stay {
    fn drop(&mut self) {
        let all = STAYS.get();
        let mut by_task = all.lock();
        // A forked child has a list of its own.
        let Some(holds) = by_task.get_mut(&self.task) else {
            return;
        };
        if let Some(index) = holds.iter().position(|hold| hold.ptr_eq(&self.hold)) {
            holds.remove(index);
            all.count.fetch_sub(1, Ordering::Release);
        }
        if holds.is_empty() {
            by_task.remove(&self.task);
        }
    }
}

/// Visits the valid holds that the running task took through reentrant handles, in the order in which it took them.
/// `blocking`: see [`TaskId::current`].
#[inline]
pub(crate) fn held_by_hand(blocking: bool, visit: impl FnMut(Arc<Hold>)) {
    if STAYS.get().count.load(Ordering::Acquire) > 0 {
        taken_by(blocking).for_each(visit);
    }
}

#[cold]
fn taken_by(blocking: bool) -> impl Iterator<Item = Arc<Hold>> {
    let task = TaskId::current(blocking);
    let found = task.and_then(|task| {
        let by_task = STAYS.get().lock();
        let holds = by_task.get(&task)?.iter();
        Some(holds.filter_map(Weak::upgrade).collect::<Vec<_>>())
    });
    // The mutex is unlocked before a hold is dropped, because the drop of a last reference may run other code.
    let holds = found.unwrap_or_default().into_iter();
    holds.filter(|hold| hold.is_valid())
}
