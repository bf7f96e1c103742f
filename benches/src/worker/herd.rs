//! Many clients in one process; each uses a lock of its own repeatedly.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use auto_mutex::Client;
use serde::{Deserialize, Serialize};
use tokio::runtime::Builder;
use tokio::time::sleep;

use super::talk::{ready, say};
use crate::job::Herd;
use crate::peer::{Contender, LEASE, ours};
use crate::{Failure, clock};

/// The pause between two turns of a client.
const REST: Duration = Duration::from_millis(500);
/// A client that is not served within this time counts as not served.
const LONGEST: u64 = 90 * clock::SECOND;

/// The result of starting all clients at once.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Started {
    /// The number of clients that had a turn, and the time when this number was reached.
    pub(crate) served: usize,
    pub(crate) at: u64,
}

/// The result after the outage of the server.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Herded {
    /// The number of clients with a turn after the outage, and with another turn after that.
    pub(crate) served: usize,
    pub(crate) again: usize,
    /// The times when these numbers were reached.
    pub(crate) served_at: u64,
    pub(crate) again_at: u64,
}

pub(super) fn run(job: &Herd) -> Result<(), Failure> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        // For each client, the start of the last turn that it has completed.
        let turns: Arc<[AtomicU64]> = (0..job.clients).map(|_| AtomicU64::new(0)).collect();
        for number in 0..job.clients {
            // All clients connect at once, like services that start together.
            let config = ours::config(Contender::AutoMutex, &job.url, LEASE)?;
            let client = Client::connect(config.connect_lazily(true))?;
            let name = format!("herd:{}:{number}", std::process::id());
            tokio::spawn(turn_after_turn(client, name, number, turns.clone()));
        }
        let (served, at) = all_after(&turns, 0, clock::now() + LONGEST).await;
        say("started", &Started { served, at })?;
        // `ready` blocks the runtime's only thread, so no client has a turn before the benchmark has caused the outage.
        let restarted = ready()?.start;
        let end = restarted + LONGEST;
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

/// Waits until all clients have had a turn that began after `time`, or until `end`. Returns the number of clients that
/// had such a turn, and the time when the wait ended.
async fn all_after(turns: &[AtomicU64], time: u64, end: u64) -> (usize, u64) {
    loop {
        let had = turns
            .iter()
            .filter(|turn| turn.load(Ordering::Relaxed) > time);
        let (count, now) = (had.count(), clock::now());
        if count == turns.len() || now > end {
            return (count, now);
        }
        sleep(Duration::from_millis(20)).await;
    }
}
