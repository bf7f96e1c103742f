//! `ns` and `name` are texts, the same for every call.
use auto_mutex::{LockError, auto_mutex};

const NAMESPACE: &str = "billing";

#[auto_mutex(ns = "", name = "")]
fn empty() -> Result<(), LockError> {
    Ok(())
}

#[auto_mutex(ns = NAMESPACE, name = 5)]
fn no_text() -> Result<(), LockError> {
    Ok(())
}

#[auto_mutex(name = "month-{month}")]
fn template(month: u32) -> Result<(), LockError> {
    let _ = month;
    Ok(())
}

#[auto_mutex(namespace = "")]
fn empty_by_the_other_word() -> Result<(), LockError> {
    Ok(())
}

#[auto_mutex(ns = "a", namespace = "b")]
fn twice() -> Result<(), LockError> {
    Ok(())
}

#[auto_mutex(namspace = "a")]
fn misspelt() -> Result<(), LockError> {
    Ok(())
}

fn main() {
    let _ = (empty(), no_text(), template(1), NAMESPACE);
}
