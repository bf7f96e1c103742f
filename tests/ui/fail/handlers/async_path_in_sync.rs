//! Nor can it await a function.
use auto_mutex::{LockError, auto_mutex};

#[auto_mutex(on_timeout = busy)]
fn close() -> Result<u32, LockError> {
    Ok(1)
}

async fn busy() -> Result<u32, LockError> {
    Ok(0)
}

fn main() {
    let _ = (close(), busy());
}
