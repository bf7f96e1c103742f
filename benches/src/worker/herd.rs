//! Many clients in one process, each of which uses a lock of its own again and again.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use auto_mutex::Client;
use serde::{Deserialize, Serialize};
use tokio::runtime::Builder;
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
    /// How many clients had a turn, and when the last one of them had had it.
    pub(crate) served: usize,
    pub(crate) at: u64,
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
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        // When the last turn began that each has had.
        let turns: Arc<[AtomicU64]> = (0..job.clients).map(|_| AtomicU64::new(0)).collect();
        for number in 0..job.clients {
            // All at once, as services that start together.
            let config = ours::config(Contender::AutoMutex, &job.url, LEASE)?;
            let client = Client::connect(config.connect_lazily())?;
            let name = format!("herd:{}:{number}", std::process::id());
            tokio::spawn(turn_after_turn(client, name, number, turns.clone()));
        }
        let (served, at) = all_after(&turns, 0, clock::now() + LONGEST).await;
        say("started", &Started { served, at })?;
        // (The runtime's only thread: nobody has a turn before the server is back.)
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

/// Waits until all have had a turn that began after `time`, or until `end`. Returns how many have, and when.
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
