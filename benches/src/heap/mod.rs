//! Counts allocations, in a program of its own (`src/bin/heap.rs`): counting would slow the measurements of time.
//!
//! The allocations of the whole process are counted, including the engine's thread.

mod redis_own;

use std::process::ExitCode;
use std::time::Duration;

use auto_mutex::Client;
use serde::{Deserialize, Serialize};
use tokio::runtime::Builder;

use crate::Failure;
use crate::peer::{Contender, LEASE, ours};
use crate::worker::{Caller, Kind};

/// The state of the heap.
#[derive(Clone, Copy, Debug)]
pub struct Heap {
    /// Blocks allocated so far.
    pub blocks: u64,
    /// Bytes in use.
    pub bytes: u64,
}

/// The output of `src/bin/heap.rs`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Counted {
    /// Blocks per call on `memory://`.
    pub(crate) calls: Vec<(Kind, f64)>,
    /// Blocks per cycle on Redis.
    pub(crate) cycle: f64,
    /// The same if the lock stays with the client.
    pub(crate) kept: f64,
    /// Blocks that redis-rs alone needs for the requests of a cycle.
    pub(crate) redis_own: f64,
    /// Bytes per waiter, its task included.
    pub(crate) waiter: f64,
}

const WARM: u64 = 200;
const CYCLES: u64 = 400;
/// Less than tokio's cooperative budget: a runtime allocates once when its first task yields.
const CALLS: u64 = 120;
/// Nested calls share the allocations of the one outer call: one to five, depending on whether the outer call waits for
/// the engine's thread. With this many calls, they do not matter.
const NESTED_CALLS: u64 = 12_000;
/// The number of times that the blocks of the same calls are counted. The least count is used, because a higher one
/// includes periodic work of the engine.
const COUNTS: usize = 5;
const WAITERS: usize = 1_000;
const SETTLE: Duration = Duration::from_millis(500);

/// The main function of `auto-mutex-bench-heap`: counts on the server whose URL is the argument. `heap` reads the
/// heap's state.
pub fn count(heap: impl Fn() -> Heap) -> ExitCode {
    let url = std::env::args().nth(1).unwrap_or_default();
    let counted = counted(&url, &heap)
        .and_then(|counted| serde_json::to_string(&counted).map_err(Into::into));
    match counted {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("auto-mutex-bench-heap: {error}");
            ExitCode::FAILURE
        }
    }
}

fn counted(url: &str, heap: &impl Fn() -> Heap) -> Result<Counted, Failure> {
    Ok(Counted {
        calls: calls(heap)?,
        cycle: cycle(Contender::AutoMutex, url, heap)?,
        kept: cycle(Contender::AutoMutexKept, url, heap)?,
        redis_own: redis_own::blocks(url, heap)?,
        waiter: waiter(url, heap)?,
    })
}

fn calls(heap: &impl Fn() -> Heap) -> Result<Vec<(Kind, f64)>, Failure> {
    auto_mutex::setup("memory://")?;
    let caller = Caller::new(&auto_mutex::client()?)?;
    let mut calls = Vec::new();
    for kind in Kind::ALL {
        caller.call(kind, WARM)?;
        let times = match kind {
            Kind::Nested => NESTED_CALLS,
            _ => CALLS,
        };
        let mut least = u64::MAX;
        for _ in 0..COUNTS {
            let before = heap().blocks;
            caller.call(kind, times)?;
            least = least.min(heap().blocks - before);
        }
        calls.push((kind, least as f64 / times as f64));
    }
    auto_mutex::blocking_shutdown();
    Ok(calls)
}

fn cycle(who: Contender, url: &str, heap: &impl Fn() -> Heap) -> Result<f64, Failure> {
    let client = ours::connect(who, url, LEASE)?;
    let mutex = client.mutex("bench:heap");
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let cycles = async |times: u64| {
        for _ in 0..times {
            drop(mutex.lock().await?);
        }
        Ok::<_, Failure>(())
    };
    let blocks = runtime.block_on(async {
        cycles(WARM).await?;
        let mut least = u64::MAX;
        for _ in 0..COUNTS {
            let before = heap().blocks;
            cycles(CYCLES).await?;
            least = least.min(heap().blocks - before);
        }
        Ok::<_, Failure>(least)
    })?;
    client.blocking_shutdown();
    Ok(blocks as f64 / CYCLES as f64)
}

/// Measures the memory of a waiting task, in a client that waits for a lock of another client.
fn waiter(url: &str, heap: &impl Fn() -> Heap) -> Result<f64, Failure> {
    let (holder, client) = (connect(url)?, connect(url)?);
    let held = holder.mutex("bench:heap").blocking_lock()?;
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let bytes = runtime.block_on(async {
        // The first waiter is not counted, because it also allocates what all waiters share.
        let mutex = client.mutex("bench:heap");
        let first = tokio::spawn(async move { mutex.lock().await.map(drop) });
        tokio::time::sleep(SETTLE).await;
        let before = heap().bytes;
        for _ in 0..WAITERS {
            let mutex = client.mutex("bench:heap");
            drop(tokio::spawn(async move { mutex.lock().await.map(drop) }));
        }
        tokio::time::sleep(SETTLE).await;
        let bytes = heap().bytes.saturating_sub(before);
        first.abort();
        bytes
    });
    drop(runtime);
    drop(held);
    holder.blocking_shutdown();
    client.blocking_shutdown();
    Ok(bytes as f64 / WAITERS as f64)
}

fn connect(url: &str) -> Result<Client, Failure> {
    ours::connect(Contender::AutoMutex, url, LEASE)
}
