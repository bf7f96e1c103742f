//! To drop a borrowed guard releases nothing. The compiler warns of it by itself; here it is an error.
#![deny(dropping_references)]
use auto_mutex::{LockError, auto_mutex};

#[auto_mutex(guard = g)]
async fn close() -> Result<(), LockError> {
    drop(g);
    Ok(())
}

fn main() {
    let _ = close();
}
