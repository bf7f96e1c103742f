//! A handler returns what the function returns.
use auto_mutex::{LockError, auto_mutex};

#[auto_mutex(on_timeout = busy)]
fn close() -> Result<u32, LockError> {
    Ok(1)
}

fn busy() -> u32 {
    0
}

#[auto_mutex(on_timeout = busy)]
async fn open() -> Result<u32, LockError> {
    Ok(1)
}

#[auto_mutex(on_timeout = || 0)]
fn closure() -> Result<u32, LockError> {
    Ok(1)
}

#[auto_mutex(on_timeout = async || 0)]
async fn awaited() -> Result<u32, LockError> {
    Ok(1)
}

fn main() {
    let _ = (close(), open(), closure(), awaited());
}
