//! The tasks that took locks by hand.
//!
//! A guard may be passed to another task, and nothing notices that. So a lock that was taken by hand counts for no task,
//! unless its handle is reentrant: such a handle declares that its guards stay with the task that took them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::hold::Hold;
use crate::process::PerProcess;
use crate::task::TaskId;

/// The task that took a lock by hand.
pub(crate) struct Taken(TaskId);

type ByTask = HashMap<TaskId, Vec<Weak<Hold>>>;

/// The holds whose guards stay with their tasks, of all clients of this process.
#[derive(Default)]
struct Stays {
    /// The number of holds, so that nearly every call need not lock the mutex.
    count: AtomicUsize,
    by_task: Mutex<Option<ByTask>>,
}

impl Stays {
    fn lock(&self) -> MutexGuard<'_, Option<ByTask>> {
        self.by_task.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

static STAYS: PerProcess<Stays> = PerProcess::new(Stays::default);

impl Taken {
    pub(super) fn new(hold: &Arc<Hold>, task: TaskId, stays: bool) -> Self {
        if stays {
            let all = STAYS.get();
            let mut by_task = all.lock();
            let holds = by_task.get_or_insert_default().entry(task).or_default();
            holds.push(Arc::downgrade(hold));
            all.count.fetch_add(1, Ordering::Release);
        }
        Self(task)
    }

    pub(crate) fn task(&self) -> TaskId {
        self.0
    }

    /// Whether the guard of `hold`, which this value belongs to, stays with the task.
    pub(crate) fn stays(&self, hold: &Hold) -> bool {
        let by_task = STAYS.get().lock();
        let holds = by_task.as_ref().and_then(|by_task| by_task.get(&self.0));
        let is_it = |other: &Weak<Hold>| std::ptr::eq(other.as_ptr(), hold);
        holds.is_some_and(|holds| holds.iter().any(is_it))
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        let all = STAYS.get();
        if all.count.load(Ordering::Acquire) == 0 {
            return;
        }
        let mut by_task = all.lock();
        let Some(by_task) = &mut *by_task else {
            return;
        };
        if let Some(holds) = by_task.get_mut(&self.0) {
            let before = holds.len();
            holds.retain(|hold| hold.strong_count() > 0);
            all.count.fetch_sub(before - holds.len(), Ordering::Release);
            if holds.is_empty() {
                by_task.remove(&self.0);
            }
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
        let holds = by_task.as_ref()?.get(&task)?;
        Some(holds.iter().filter_map(Weak::upgrade).collect::<Vec<_>>())
    });
    // Holds are dropped only after the mutex is unlocked, because the drop of the last reference locks it.
    let holds = found.unwrap_or_default().into_iter();
    holds.filter(|hold| hold.is_valid())
}
