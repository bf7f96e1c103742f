//! Jobs that hold many names, or wait for them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::turns::runtime;
use super::{ready, say, until_dismissed};
use crate::job::Names;
use crate::measure::cpu;
use crate::peer::ours::Ours;
use crate::peer::redlock::Rslock;
use crate::peer::{Contender, Library, Lock};
use crate::{Failure, clock};

/// The report of a process with waiters when all of them wait.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Waiting {
    /// Resident memory of the waiters.
    pub(crate) bytes: u64,
    /// The time until all waiters were waiting.
    pub(crate) begun_ns: u64,
}

/// The report of a process with waiters when all of them have held and released the lock.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Drained {
    /// The time when all waiters had held and released the lock.
    pub(crate) at: u64,
    /// The number of waiters that got the lock after a waiter of the same name that had started later.
    pub(crate) overtaken: usize,
}

/// Takes all names and holds them until the input closes.
pub(super) fn hold(job: &Names) -> Result<(), Failure> {
    let lease = Duration::from_secs(job.lease_s);
    runtime(job.contender)?.block_on(async {
        match job.contender {
            Contender::Rslock => hold_all(job, Rslock::connect(&job.url, lease).await?).await,
            ours => hold_all(job, Ours::connect(ours, &job.url, lease)?).await,
        }
    })
}

async fn hold_all<L: Library>(job: &Names, library: L) -> Result<(), Failure> {
    let mut held = Vec::new();
    for number in 0..job.count {
        let mut lock = library.lock(&job.name(number), number);
        let guard = lock.acquire(0).await?;
        held.push((lock, guard));
    }
    ready()?;
    // The runtime's only thread may block: no other task needs it.
    until_dismissed();
    for (mut lock, guard) in held {
        lock.release(guard).await?;
    }
    library.close().await;
    say("done", &clock::now())
}

/// Starts tasks that all wait. Each task releases the lock as soon as it holds it.
pub(super) fn wait(job: &Names) -> Result<(), Failure> {
    let lease = Duration::from_secs(job.lease_s);
    runtime(job.contender)?.block_on(async {
        match job.contender {
            Contender::Rslock => wait_all(job, Rslock::connect(&job.url, lease).await?).await,
            ours => wait_all(job, Ours::connect(ours, &job.url, lease)?).await,
        }
    })
}

async fn wait_all<L: Library>(job: &Names, library: L) -> Result<(), Failure> {
    ready()?;
    let started = clock::now();
    let before = cpu::resident();
    let begun = Arc::new(AtomicUsize::new(0));
    let overtaken = Arc::new(AtomicUsize::new(0));
    // For each name, the highest number of a task that has held the lock.
    let last: Arc<[AtomicUsize]> = (0..job.names).map(|_| AtomicUsize::new(0)).collect();
    let tasks: Vec<_> = (0..job.count)
        .map(|number| {
            let mut lock = library.lock(&job.name(number), number);
            let (begun, overtaken, last) = (begun.clone(), overtaken.clone(), last.clone());
            let name = number % job.names;
            tokio::spawn(async move {
                begun.fetch_add(1, Ordering::Relaxed);
                let guard = lock.acquire(0).await?;
                if last[name].fetch_max(number, Ordering::Relaxed) > number {
                    overtaken.fetch_add(1, Ordering::Relaxed);
                }
                lock.release(guard).await
            })
        })
        .collect();
    while begun.load(Ordering::Relaxed) < job.count {
        tokio::task::yield_now().await;
    }
    say(
        "waiting",
        &Waiting {
            bytes: cpu::resident().saturating_sub(before),
            begun_ns: clock::now() - started,
        },
    )?;
    for task in tasks {
        task.await??;
    }
    library.close().await;
    let drained = Drained {
        at: clock::now(),
        overtaken: overtaken.load(Ordering::Relaxed),
    };
    say("done", &drained)
}
