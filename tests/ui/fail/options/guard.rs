//! The guard needs a plain name, and a body that runs under the lock.
use std::future::Future;

use auto_mutex::{LockError, auto_mutex};

#[auto_mutex(guard = "g")]
fn text() -> Result<(), LockError> {
    Ok(())
}

#[auto_mutex(guard = self.guard)]
fn field() -> Result<(), LockError> {
    Ok(())
}

#[auto_mutex(guard = g)]
fn made() -> impl Future<Output = Result<(), LockError>> {
    let n = 1;
    async move {
        let _ = n;
        Ok(())
    }
}

#[auto_mutex(guard = mut g)]
fn mutable() -> Result<(), LockError> {
    Ok(())
}

#[auto_mutex(guard = &mut g, block = 10)]
fn reference() -> Result<(), LockError> {
    Ok(())
}

fn main() {
    let _ = (text(), field(), made());
}
