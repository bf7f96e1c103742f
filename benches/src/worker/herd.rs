//! Many clients in one process, each of which uses a lock of its own again and again.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use auto_mutex::Client;
use serde::{Deserialize, Serialize};
use tokio::runtime::Builder;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use super::{ready, say};
use crate::job::Herd;
use crate::peer::{Contender, LEASE, ours};
use crate::{Failure, clock};

/// Between two turns of a client.
const REST: Duration = Duration::from_millis(500);
/// Who is not served by then is not served any more.
const LONGEST: u64 = 90 * clock::SECOND;

/// How the start of all went.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Started {
    /// When the last client had had its first turn.
    pub(crate) at: u64,
    /// How often a client could not connect.
    pub(crate) failed: u64,
}

/// How it went on after the server was away.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Herded {
    /// How many clients were served again, and how many once more after that.
    pub(crate) served: usize,
    pub(crate) again: usize,
    /// When the last one was.
    pub(crate) served_at: u64,
    pub(crate) again_at: u64,
}

pub(super) fn run(job: &Herd) -> Result<(), Failure> {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(job.clients)
        .build()?;
    runtime.block_on(async {
        // When the last turn began that each has had.
        let turns: Arc<[AtomicU64]> = (0..job.clients).map(|_| AtomicU64::new(0)).collect();
        let failed = Arc::new(AtomicU64::new(0));
        for number in 0..job.clients {
            tokio::spawn(live(job.url.clone(), number, turns.clone(), failed.clone()));
        }
        let (_, at) = all_after(&turns, 0, None).await;
        let failed = failed.load(Ordering::Relaxed);
        say("started", &Started { at, failed })?;
        // (The runtime's only thread: nobody has a turn before the server is back.)
        let restarted = ready()?.start;
        let end = Some(restarted + LONGEST);
        let (served, served_at) = all_after(&turns, restarted, end).await;
        let (again, again_at) = all_after(&turns, served_at, end).await;
        say(
            "done",
            &Herded {
                served,
                again,
                served_at,
                again_at,
            },
        )
    })
}

/// Connects, and takes turn after turn.
async fn live(url: String, number: usize, turns: Arc<[AtomicU64]>, failed: Arc<AtomicU64>) {
    let connected = spawn_blocking(move || {
        loop {
            match ours::connect(Contender::AutoMutex, &url, LEASE) {
                Ok(client) => return client,
                Err(_) => failed.fetch_add(1, Ordering::Relaxed),
            };
        }
    });
    let name = format!("herd:{}:{number}", std::process::id());
    // (A panic there has been printed.)
    if let Ok(client) = connected.await {
        turn_after_turn(client, name, number, turns).await;
    }
}

async fn turn_after_turn(client: Client, name: String, number: usize, turns: Arc<[AtomicU64]>) {
    let mutex = client.mutex(name);
    loop {
        let began = clock::now();
        if let Ok(guard) = mutex.lock().await
            && let Ok(true) = guard.unlock().await
        {
            turns[number].store(began, Ordering::Relaxed);
        }
        sleep(REST).await;
    }
}

/// Waits until all have had a turn that began after `time`, or until `end`. Returns how many have, and when.
async fn all_after(turns: &[AtomicU64], time: u64, end: Option<u64>) -> (usize, u64) {
    loop {
        let had = turns
            .iter()
            .filter(|turn| turn.load(Ordering::Relaxed) > time);
        let (count, now) = (had.count(), clock::now());
        if count == turns.len() || end.is_some_and(|end| now > end) {
            return (count, now);
        }
        sleep(Duration::from_millis(20)).await;
    }
}
