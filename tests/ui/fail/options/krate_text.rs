//! `crate` is a path.
use auto_mutex::{LockError, auto_mutex};

#[auto_mutex(crate = "auto_mutex")]
fn close() -> Result<(), LockError> {
    Ok(())
}

fn main() {
    let _ = close();
}
