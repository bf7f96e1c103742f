//! A part of a parameter that has no name cannot be handed on.
use auto_mutex::{LockError, auto_mutex};

#[auto_mutex(on_timeout = busy)]
fn close((month, _): (u32, u32)) -> Result<u32, LockError> {
    Ok(month)
}

fn busy(months: (u32, u32)) -> Result<u32, LockError> {
    Ok(months.0)
}

fn main() {
    let _ = (close((1, 2)), busy((1, 2)));
}
