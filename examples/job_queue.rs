//! Jobs for any free worker: a semaphore without initial permits hands out the signalled jobs in order, each to one
//! worker at a time. The job of a worker that dies or panics is handed to another worker, so each job runs at least
//! once.
//!
//! `cargo run --example job_queue`

use std::error::Error;
use std::time::Duration;

use auto_mutex::{Client, LockError};
use auto_mutex_examples::store;
use tokio::time::sleep;

const JOBS: usize = 12;

/// Works until no job has come for a while. In a real program, each worker is a process.
async fn worker(client: Client, name: &'static str) -> Result<Vec<String>, LockError> {
    let jobs = client
        .semaphore("jobs", 0)
        .block(Duration::from_millis(500));
    let mut done = Vec::new();
    loop {
        let permit = match jobs.acquire().await {
            Ok(permit) => permit,
            Err(LockError::Timeout { .. }) => return Ok(done),
            Err(error) => return Err(error),
        };
        let job = permit.token().unwrap_or_default().to_owned();
        println!("{name}: {job}");
        sleep(Duration::from_millis(30)).await;
        done.push(job);
        // The job is done: it will not be handed out again. If this fails, another worker may run the job a second
        // time.
        permit.release().await?;
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let config = store("jobs")?;
    let clients = [
        ("ada", Client::connect(config.clone())?),
        ("bob", Client::connect(config.clone())?),
    ];
    let jobs = Client::connect(config)?.semaphore("jobs", 0);
    jobs.signal("job 1").await?;
    let workers: Vec<_> = clients
        .into_iter()
        .map(|(name, client)| tokio::spawn(worker(client, name)))
        .collect();
    for number in 2..=JOBS {
        jobs.signal(format!("job {number}")).await?;
    }

    let mut done = Vec::new();
    for worker in workers {
        done.extend(worker.await??);
    }
    let count = done.len();
    done.sort_unstable();
    done.dedup();
    println!("{count} jobs done, {} of them different", done.len());
    if count == JOBS && done.len() == JOBS {
        Ok(())
    } else {
        Err("a job was lost, or done twice".into())
    }
}
