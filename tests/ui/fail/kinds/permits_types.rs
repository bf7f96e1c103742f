//! The number of permits is a `u32`.
use auto_mutex::{LockError, auto_semaphore};

#[auto_semaphore(permits = size)]
fn wrong(size: usize) -> Result<(), LockError> {
    let _ = size;
    Ok(())
}

fn main() {
    let _ = wrong(1);
}
