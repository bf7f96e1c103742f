//! A scheduled job on many nodes: every node starts the job, one node runs it, the others skip it.
//!
//! The nodes' clocks differ, so a node may start the job when it is long done: `at_least` keeps the lock beyond the end
//! of the job. With the tick in the `key`, each run has a lock of its own. Without it, `at_least` must be longer than
//! the difference of the clocks, and shorter than the time between two runs.
//!
//! `cargo run --example cron_job`

use std::error::Error;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use auto_mutex::{Client, Config, auto_mutex};
use auto_mutex_examples::store;

const TICKS: u32 = 3;
const PERIOD: Duration = Duration::from_millis(800);
/// How far the clock of each node is behind.
const SKEWS: [u64; 5] = [0, 40, 90, 150, 300];

/// The ticks that have run, each with its node.
static RUNS: Mutex<Vec<(u32, usize)>> = Mutex::new(Vec::new());

/// Takes hardly any time: the last node calls this 300 ms after the job is done.
#[auto_mutex(block = 0, at_least = 30, key = tick, on_timeout = skip, on_error = |error| eprintln!("{error}"))]
fn clean_up(tick: u32, node: usize) {
    println!("tick {tick}: node {node} cleans up");
    if let Ok(mut runs) = RUNS.lock() {
        runs.push((tick, node));
    }
}

/// A node: in a real program a machine, here a thread with its own client.
fn node(node: usize, config: Config, start: Instant) -> Result<(), auto_mutex::SetupError> {
    let client = Client::connect(config)?;
    for tick in 1..=TICKS {
        let due = start + PERIOD * tick + Duration::from_millis(SKEWS[node]);
        thread::sleep(due.saturating_duration_since(Instant::now()));
        client.blocking_scope(|| clean_up(tick, node));
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    // Each run has its own namespace: on a shared Redis, the locks of the last run's ticks are still held.
    let config = store("cron-job")?.namespace(format!("cron-job-{}", std::process::id()));
    println!(
        "{} nodes, clocks up to {} ms apart",
        SKEWS.len(),
        SKEWS[SKEWS.len() - 1]
    );

    let start = Instant::now();
    let nodes: Vec<_> = (0..SKEWS.len())
        .map(|number| {
            let config = config.clone();
            thread::spawn(move || node(number, config, start))
        })
        .collect();
    for node in nodes {
        node.join().map_err(|_| "a node panicked")??;
    }

    let runs = RUNS.lock().map_err(|_| "a node panicked")?;
    let mut once = true;
    for tick in 1..=TICKS {
        let count = runs.iter().filter(|(ran, _)| *ran == tick).count();
        println!("tick {tick} ran {count} time(s)");
        once &= count == 1;
    }
    if once {
        Ok(())
    } else {
        Err("a tick did not run exactly once".into())
    }
}
