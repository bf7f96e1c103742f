//! There is no runtime at all.
use auto_mutex::{LockError, auto_mutex};

#[auto_mutex]
async fn main() -> Result<(), LockError> {
    Ok(())
}
