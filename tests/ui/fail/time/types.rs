//! An expression must be a number, a text or a `Duration`.
use std::time::Duration;

use auto_mutex::{LockError, auto_mutex};

const SECONDS: u128 = 100;

#[auto_mutex(expire = SECONDS)]
fn number() -> Result<(), LockError> {
    Ok(())
}

#[auto_mutex(block = 60 > 5)]
fn arithmetic() -> Result<(), LockError> {
    Ok(())
}

#[auto_mutex(at_least = Some(Duration::from_secs(1)))]
fn option() -> Result<(), LockError> {
    Ok(())
}

#[auto_mutex(retries = "three".len())]
fn count() -> Result<(), LockError> {
    Ok(())
}

fn main() {
    let _ = (number(), arithmetic(), option(), count());
}
