//! The two jobs: each is right by itself, and together they wait for ever.

use auto_mutex::{LockError, auto_mutex};

use crate::Failure;

type Job = fn() -> Result<(), LockError>;

/// The jobs, with what they are called.
pub(crate) const JOBS: [(&str, Job); 2] = [("pay", || pay(7, 3)), ("count", || count(3, 7))];

/// How a line begins that says that a job holds its first lock.
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

/// Until both jobs hold their first locks: then the input ends.
fn wait_for_the_other() {
    for _ in std::io::stdin().lines() {}
}

/// Does the job, again if it failed to end a deadlock.
pub(crate) fn run(name: &str) -> Result<(), Failure> {
    let job = JOBS.iter().find(|(job, _)| *job == name);
    let (_, job) = job.ok_or("there is no such job")?;
    loop {
        match job() {
            Ok(()) => {
                println!("is done");
                return Ok(());
            }
            // Its locks are released by now.
            Err(error @ LockError::Deadlock { .. }) => println!("fails, and tries again: {error}"),
            Err(error @ LockError::Timeout { .. }) => {
                println!("gives up: {error}");
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        }
    }
}
