//! A function that answers as `on_error` takes the error.
use auto_mutex::{LockError, auto_mutex};

type Out = Result<u32, LockError>;

#[auto_mutex(on_error = number)]
fn sync() -> Out {
    Ok(1)
}

#[auto_mutex(on_error = nothing)]
async fn future() -> Out {
    Ok(1)
}

#[auto_mutex(on_error = with_the_arguments)]
fn month(month: u32) -> Out {
    Ok(month)
}

#[auto_mutex(on_error = |error: &str| Ok(error.len() as u32))]
fn closure() -> Out {
    Ok(1)
}

#[auto_mutex(on_error = other_answer)]
fn answer() -> Out {
    Ok(1)
}

fn number(number: u32) -> Out {
    Ok(number)
}

fn nothing() -> Out {
    Ok(0)
}

fn with_the_arguments(_: LockError, month: u32) -> Out {
    Ok(month)
}

fn other_answer(_: LockError) -> u32 {
    0
}

fn main() {}
