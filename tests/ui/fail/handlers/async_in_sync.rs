//! A sync function cannot await its handler.
use auto_mutex::{LockError, auto_mutex};

#[auto_mutex(on_timeout = async || Ok(0))]
fn closure() -> Result<u32, LockError> {
    Ok(1)
}

#[auto_mutex(on_error = |_| async { Ok(0) })]
fn block() -> Result<u32, LockError> {
    Ok(1)
}

fn main() {
    let _ = (closure(), block());
}
