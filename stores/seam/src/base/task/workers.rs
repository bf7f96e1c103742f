//! Which workers are blocked by calls that wait for locks. Tokio does not replace a blocked worker: if all of them wait
//! for locks held by tasks of the same runtime, none of those tasks can continue.

use std::collections::HashMap;
use std::sync::Mutex;

use tokio::runtime::{Handle, Id, RuntimeFlavor};

use super::runs_a_task;
use crate::base::process::PerProcess;

/// The workers of each runtime, and how many of them are blocked.
static RUNTIMES: PerProcess<Mutex<HashMap<Id, (usize, usize)>>> = PerProcess::new(Mutex::default);

#[derive(Debug)]
pub struct BlockedWorker(Id);

impl BlockedWorker {
    pub fn enter() -> Option<Self> {
        let handle = Handle::try_current().ok()?;
        if handle.runtime_flavor() == RuntimeFlavor::CurrentThread || !runs_a_task() {
            return None;
        }
        let (id, workers) = (handle.id(), handle.metrics().num_workers());
        RUNTIMES.lock().entry(id).or_insert((workers, 0)).1 += 1;
        Some(Self(id))
    }

    pub fn runtime(&self) -> Id {
        self.0
    }
}

impl Drop for BlockedWorker {
    fn drop(&mut self) {
        let mut runtimes = RUNTIMES.lock();
        if let Some((_, blocked)) = runtimes.get_mut(&self.0) {
            *blocked -= 1;
            if *blocked == 0 {
                runtimes.remove(&self.0);
            }
        }
    }
}

/// The number of the runtime's workers, if all of them are blocked.
pub fn all_blocked(runtime: Id) -> Option<usize> {
    let (workers, blocked) = *RUNTIMES.lock().get(&runtime)?;
    (blocked >= workers).then_some(workers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_blocked_workers_count() {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .build()
            .unwrap();
        let id = runtime.handle().id();
        runtime.block_on(async {
            assert!(BlockedWorker::enter().is_none(), "not a worker");
            let blocking = || BlockedWorker::enter().is_none();
            assert!(tokio::task::spawn_blocking(blocking).await.unwrap());
            let handed_over = async { tokio::task::block_in_place(BlockedWorker::enter) };
            assert!(tokio::spawn(handed_over).await.unwrap().is_none());
            let counts = tokio::spawn(async move {
                assert_eq!(all_blocked(id), None);
                let blocked = BlockedWorker::enter().unwrap();
                assert_eq!(blocked.runtime(), id);
                all_blocked(id)
            });
            assert_eq!(counts.await.unwrap(), Some(1));
        });
        assert_eq!(all_blocked(id), None);
    }
}
