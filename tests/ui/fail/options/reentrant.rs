//! `reentrant` is the same for every call.
use auto_mutex::{LockError, auto_mutex, auto_semaphore};

type Out = Result<(), LockError>;

#[auto_mutex(reentrant = maybe)]
fn variable(maybe: bool) -> Out {
    let _ = maybe;
    Ok(())
}

#[auto_mutex(reentrant)]
fn no_value() -> Out {
    Ok(())
}

#[auto_semaphore(permits = 2, reentrant = 0)]
fn number() -> Out {
    Ok(())
}

#[auto_mutex(reentrant = false, owner = "me")]
fn owned() -> Out {
    Ok(())
}

#[auto_mutex(reentrent = false)]
fn misspelt() -> Out {
    Ok(())
}

#[auto_mutex(recursive = false)]
fn another_word() -> Out {
    Ok(())
}

fn main() {}
