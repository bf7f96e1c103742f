//! The body has the guard to look at, not to give away.
use auto_mutex::{LockError, auto_mutex};

#[auto_mutex(guard = g)]
async fn close() -> Result<(), LockError> {
    g.unlock().await?;
    Ok(())
}

fn main() {
    let _ = close();
}
