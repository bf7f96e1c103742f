//! Words from other libraries, and values without a word.
use auto_mutex::{LockError, auto_mutex, auto_semaphore};

#[auto_mutex(
    timeout = 10, wait_time = 10, wait_timeout = 5, lease_time = 30, ttl = 100, hold = 7, lock_at_most_for = 100,
    lockAtLeastFor = 10, retry = 3, max_retries = 3, retry_delay = 1, id = 5, key_prefix = "eu", fallback = skip
)]
fn close() -> Result<(), LockError> {
    Ok(())
}

#[auto_mutex(lease = 30, auto_renew = true, reentrant = true, fair, max_concurrency = 5)]
fn open() -> Result<(), LockError> {
    Ok(())
}

#[auto_semaphore(limit = 5, previous_name = "tidy")]
fn tidy() -> Result<(), LockError> {
    Ok(())
}

#[auto_mutex("cleanup")]
fn cleanup() -> Result<(), LockError> {
    Ok(())
}

#[auto_mutex(100)]
fn number() -> Result<(), LockError> {
    Ok(())
}

fn main() {
    let _ = (close(), open(), tidy(), cleanup(), number());
}
