//! Half-written options.
use auto_mutex::{LockError, auto_mutex};

#[auto_mutex(expire)]
fn no_value() -> Result<(), LockError> {
    Ok(())
}

#[auto_mutex(expire = )]
fn half_written() -> Result<(), LockError> {
    Ok(())
}

#[auto_mutex(expire(100))]
fn parentheses() -> Result<(), LockError> {
    Ok(())
}

#[auto_mutex(expire = 100 block = 10)]
fn no_comma() -> Result<(), LockError> {
    Ok(())
}

#[auto_mutex("close", expire = "2 weeks")]
fn no_option() -> Result<(), LockError> {
    Ok(())
}

#[auto_mutex(explicit)]
fn for_blocks() -> Result<(), LockError> {
    Ok(())
}

fn main() {
    let _ = (no_value(), half_written(), parentheses(), no_comma(), no_option(), for_blocks());
}
