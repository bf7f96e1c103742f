//! tokio-cron-scheduler on many nodes: every node starts the job, one node runs it, the others skip it.
//!
//! `AUTO_MUTEX_URL=redis://127.0.0.1:6379 cargo run -p auto-mutex-example-tokio-cron --example tokio_cron`

use std::time::{SystemTime, UNIX_EPOCH};

use auto_mutex::{Config, auto_mutex};
use tokio::signal::unix::{SignalKind, signal};
use tokio_cron_scheduler::{Job, JobScheduler};

/// `tick` is the number of the second: the time for which the run was planned, and the same number on all nodes.
#[auto_mutex(block = 0, at_least = 300, key = tick, on_timeout = skip, on_error = |error| eprintln!("{error}"))]
async fn clean_up(tick: u64) {
    println!("tick {tick}: this node cleans up");
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    auto_mutex::setup_async(Config::from_env()?).await?;

    let mut scheduler = JobScheduler::new().await?;
    let every_second = Job::new_async("* * * * * *", |_, _| {
        Box::pin(async {
            let now = SystemTime::now().duration_since(UNIX_EPOCH);
            clean_up(now.map_or(0, |now| now.as_secs())).await;
        })
    })?;
    scheduler.add(every_second).await?;
    scheduler.start().await?;

    signal(SignalKind::terminate())?.recv().await;
    scheduler.shutdown().await?; // starts no more jobs
    println!("{}", auto_mutex::drain("20s").await?); // waits for those that run
    Ok(())
}
