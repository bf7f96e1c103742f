//! A type parameter without `Display`: nothing private is proposed.
use auto_mutex::{LockError, auto_mutex};

#[auto_mutex(key = id)]
fn key<T>(id: T) -> Result<(), LockError> {
    drop(id);
    Ok(())
}

#[auto_mutex(keys = ids)]
fn keys<T>(ids: &[T]) -> Result<usize, LockError> {
    Ok(ids.len())
}

#[auto_mutex(keys = ids)]
fn list<I>(ids: I) -> Result<(), LockError> {
    drop(ids);
    Ok(())
}

#[auto_mutex(owner = who)]
fn owner(who: impl Copy) -> Result<(), LockError> {
    let _ = who;
    Ok(())
}

fn main() {}
