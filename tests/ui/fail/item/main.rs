//! The runtime's attribute comes first: without it, main is still async here.
use auto_mutex::{LockError, auto_mutex};

#[auto_mutex]
#[tokio::main]
async fn main() -> Result<(), LockError> {
    Ok(())
}
