//! One of the three processes: it stands for the lead, and works while it leads.

use std::process::ExitCode;
use std::time::Duration;

use auto_mutex::{Config, LockError, Term, auto_leader};
use tokio::time::sleep;

use crate::Failure;

/// Short, so that the take-over after the kill is soon seen.
pub(crate) const LEASE: Duration = Duration::from_secs(6);
/// The name of the seat.
pub(crate) const SEAT: &str = "scheduler";

pub(crate) const LEADS: &str = "leads, term ";
pub(crate) const JOB: &str = "job ";

struct Node {
    name: String,
}

impl Node {
    /// Runs in one process of the cluster at a time. Returns only when this process ends.
    #[auto_leader(
        name = "scheduler",
        value = "{self.name}.example:9000",
        stop_within = 1
    )]
    async fn schedule(&self, term: &Term) -> Result<(), LockError> {
        println!("{LEADS}{}", term.number());
        let _shift = Shift;
        for job in 1.. {
            // A loss of the lead, or SIGTERM, ends the body here.
            sleep(Duration::from_millis(300)).await;
            println!("{JOB}{job}");
        }
        Ok(())
    }
}

/// Dropped when the body ends, and before another process leads.
struct Shift;

impl Drop for Shift {
    fn drop(&mut self) {
        println!("stops working");
    }
}

#[tokio::main]
pub(crate) async fn run(name: &str) -> Result<ExitCode, Failure> {
    std::thread::spawn(end_with_the_show);
    auto_mutex::setup_async(Config::from_env()?.lease(LEASE)).await?;
    // SIGTERM ends the body and gives the lead to the next process, before this one ends.
    auto_mutex::release_on_termination()?;
    let node = Node {
        name: name.to_owned(),
    };
    println!("stands for the lead");
    match node.schedule().await {
        // The signal ends the process.
        Err(LockError::ShutDown) => std::future::pending().await,
        ended => ended?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The input ends with the process that started this one, even if that was killed.
fn end_with_the_show() {
    for _ in std::io::stdin().lines() {}
    std::process::exit(0);
}
