//! Foreign callers cannot be made to wait.
use auto_mutex::{LockError, auto_mutex};

#[auto_mutex]
extern "C" fn callback() -> Result<(), LockError> {
    Ok(())
}

#[auto_mutex]
unsafe extern "C" {
    fn foreign();
}

fn main() {
    let _ = callback();
}
