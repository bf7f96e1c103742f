//! Where the runtime is said to be, it must be.
use auto_mutex::{LockError, auto_mutex};

#[auto_mutex(crate = ::locks)]
fn close() -> Result<(), LockError> {
    Ok(())
}

fn main() {
    let _ = close();
}
