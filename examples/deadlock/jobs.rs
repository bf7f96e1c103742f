//! The two jobs: each is correct alone, and together they wait for each other forever.

use auto_mutex::{LockError, auto_mutex};

use crate::Failure;

type Job = fn() -> Result<(), LockError>;

/// The jobs with their names.
pub(crate) const JOBS: [(&str, Job); 2] = [("pay", || pay(7, 3)), ("count", || count(3, 7))];

/// A line that begins like this says that a job holds its first lock.
pub(crate) const HOLDS: &str = "holds ";

/// Takes the order, then its stock.
#[auto_mutex(name = "order", key = "{order}")]
fn pay(order: u32, product: u32) -> Result<(), LockError> {
    println!("{HOLDS}order:{order}, takes stock:{product}");
    wait_for_the_other();
    reserve(product)
}

/// Waits for 5 s at most: with `Deadlock::Report`, nothing else ends the deadlock.
#[auto_mutex(name = "stock", key = "{product}", block = 5)]
fn reserve(product: u32) -> Result<(), LockError> {
    println!("got stock:{product}");
    Ok(())
}

/// Takes the stock, then an order of it.
#[auto_mutex(name = "stock", key = "{product}")]
fn count(product: u32, order: u32) -> Result<(), LockError> {
    println!("{HOLDS}stock:{product}, takes order:{order}");
    wait_for_the_other();
    look_at(order)
}

#[auto_mutex(name = "order", key = "{order}")]
fn look_at(order: u32) -> Result<(), LockError> {
    println!("got order:{order}");
    Ok(())
}

/// Waits until both jobs hold their first locks: the parent process then closes the input.
fn wait_for_the_other() {
    for _ in std::io::stdin().lines() {}
}

/// Runs the job; runs it again if it failed in order to resolve a deadlock.
pub(crate) fn run(name: &str) -> Result<(), Failure> {
    let job = JOBS.iter().find(|(job, _)| *job == name);
    let (_, job) = job.ok_or("there is no such job")?;
    loop {
        match job() {
            Ok(()) => {
                println!("is done");
                return Ok(());
            }
            // The locks of this job are released by now.
            Err(error @ LockError::Deadlock { .. }) => println!("fails, and tries again: {error}"),
            Err(error @ LockError::Timeout { .. }) => {
                println!("gives up: {error}");
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        }
    }
}
