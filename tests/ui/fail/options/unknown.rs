//! Every unknown option is named, with the one that was meant.
use auto_mutex::{LockError, auto_mutex};

#[auto_mutex(exprie = 100, bloc = 10, on_timout = skip, colour = "red", expire = 5)]
fn close() -> Result<(), LockError> {
    Ok(())
}

#[auto_mutex(permits = 5)]
fn open() -> Result<(), LockError> {
    Ok(())
}

fn main() {
    let _ = (close(), open());
}
