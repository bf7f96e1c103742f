//! Every unknown option is named, with the one that was meant.
use auto_mutex::{LockError, auto_mutex};

#[auto_mutex(exprie = 100, bloc = 10, on_timout = skip, colour = "red", expire = 5)]
fn close() -> Result<(), LockError> {
    Ok(())
}

#[auto_mutex(ttl = 100, timeout = 10, permits = 5)]
fn open() -> Result<(), LockError> {
    Ok(())
}

#[auto_mutex(lock_at_most_for = 100, lock_at_least_for = 10, wait_timeout = 5, hold = 7)]
fn tidy() -> Result<(), LockError> {
    Ok(())
}

fn main() {
    let _ = (close(), open(), tidy());
}
