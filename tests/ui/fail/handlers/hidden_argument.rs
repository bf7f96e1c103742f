//! A part of a parameter that has no name cannot be handed on.
use auto_mutex::{LockError, auto_mutex};

#[auto_mutex(on_timeout = busy)]
fn close((month, _): (u32, u32)) -> Result<u32, LockError> {
    Ok(month)
}

#[auto_mutex(on_timeout = |months| busy(months))]
fn open((month, _): (u32, u32)) -> Result<u32, LockError> {
    Ok(month)
}

type Months<'a> = &'a (u32, u32);

/// Behind the alias is a reference, which the attribute cannot see.
#[auto_mutex(on_timeout = |months| Ok(months.0))]
fn look((month, next): Months<'_>) -> Result<u32, LockError> {
    Ok(month + next)
}

fn busy(months: (u32, u32)) -> Result<u32, LockError> {
    Ok(months.0)
}

fn main() {
    let _ = (close((1, 2)), open((1, 2)), look(&(1, 2)), busy((1, 2)));
}
