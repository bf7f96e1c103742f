//! Options that exclude or need each other.
use auto_mutex::{LockError, auto_mutex};

#[auto_mutex(retries = 3, block = 10)]
fn polls_and_queues() -> Result<(), LockError> {
    Ok(())
}

#[auto_mutex(interval = 0.1)]
fn interval_of_nothing() -> Result<(), LockError> {
    Ok(())
}

#[auto_mutex(on_lost = cancel)]
fn sync_cancel() -> Result<(), LockError> {
    Ok(())
}

#[auto_mutex(on_lost = ignore)]
async fn unknown_word() -> Result<(), LockError> {
    Ok(())
}

fn main() {
    let _ = (polls_and_queues(), interval_of_nothing(), sync_cancel(), unknown_word());
}
