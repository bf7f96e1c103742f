//! A sync function cannot await its key.
use auto_mutex::{LockError, auto_mutex};

async fn load() -> u32 {
    1
}

#[auto_mutex(key = load().await)]
fn close() -> Result<(), LockError> {
    Ok(())
}

fn main() {
    let _ = close();
}
