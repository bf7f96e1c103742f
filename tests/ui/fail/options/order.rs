//! `order` takes a text that says why.
use auto_mutex::{LockError, auto_mutex, auto_read, auto_semaphore, auto_write};

#[auto_mutex(order = "")]
fn empty() -> Result<(), LockError> {
    Ok(())
}

#[auto_semaphore(permits = 2, order = true)]
fn no_text() -> Result<(), LockError> {
    Ok(())
}

#[auto_read(order)]
fn no_value() -> Result<(), LockError> {
    Ok(())
}

#[auto_write(order = "one", order = "two")]
fn twice() -> Result<(), LockError> {
    Ok(())
}

fn main() {
    let _ = (empty(), no_text(), no_value(), twice());
}
