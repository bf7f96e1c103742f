//! An option given twice is not decided by order.
use auto_mutex::{LockError, auto_mutex};

#[auto_mutex(expire = 100, block = 1, expire = 200)]
fn close() -> Result<(), LockError> {
    Ok(())
}

fn main() {
    let _ = close();
}
