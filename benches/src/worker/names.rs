//! Jobs that hold many names, or wait for them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::{Deserialize, Serialize};
use tokio::task::spawn_blocking;

use super::talk::{ready, say, until_dismissed};
use super::turns::runtime;
use crate::job::Names;
use crate::measure::cpu;
use crate::peer::{Library, Lock, with_library};
use crate::{Failure, clock};

/// The report of a process that holds all of its names.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Holding {
    /// The resident memory that the locks have added, with what they share.
    pub(crate) bytes: u64,
}

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
    runtime(job.contender)?
        .block_on(async { with_library!(job.contender, |L| hold_all::<L>(job).await) })
}

async fn hold_all<L: Library>(job: &Names) -> Result<(), Failure> {
    let before = cpu::resident();
    let library = L::connect(&job.access()).await?;
    let mut held = Vec::new();
    for number in 0..job.count {
        let mut lock = library.lock(&job.name(number), number);
        let guard = lock.acquire(0).await?;
        held.push((lock, guard));
    }
    say(
        "holding",
        &Holding {
            bytes: cpu::resident().saturating_sub(before),
        },
    )?;
    ready()?;
    // Meanwhile, the tasks of a library may renew the locks.
    spawn_blocking(until_dismissed).await?;
    for (mut lock, guard) in held {
        lock.release(guard).await?;
    }
    library.close().await;
    say("done", &clock::now())
}

/// Starts tasks that all wait. Each task releases the lock as soon as it holds it.
pub(super) fn wait(job: &Names) -> Result<(), Failure> {
    runtime(job.contender)?
        .block_on(async { with_library!(job.contender, |L| wait_all::<L>(job).await) })
}

async fn wait_all<L: Library>(job: &Names) -> Result<(), Failure> {
    let before = cpu::resident();
    let mut clients = Vec::with_capacity(job.clients);
    for _ in 0..job.clients {
        clients.push(L::connect(&job.access()).await?);
    }
    // What all waiters share is no memory of a waiter. But a connection of its own is.
    let before = match job.contender.connects_each() {
        true => before,
        false => cpu::resident(),
    };
    ready()?;
    let started = clock::now();
    let begun = Arc::new(AtomicUsize::new(0));
    let overtaken = Arc::new(AtomicUsize::new(0));
    // For each name, the highest number of a task that has held the lock.
    let last: Arc<[AtomicUsize]> = (0..job.names).map(|_| AtomicUsize::new(0)).collect();
    let tasks: Vec<_> = (0..job.count)
        .map(|number| {
            let mut lock = clients[number % job.clients].lock(&job.name(number), number);
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
    let drained = Drained {
        at: clock::now(),
        overtaken: overtaken.load(Ordering::Relaxed),
    };
    say("done", &drained)?;
    for client in clients {
        client.close().await;
    }
    Ok(())
}
