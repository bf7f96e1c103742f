//! Annotated functions in a library crate, for tests of behaviour that shows only from another crate.

use auto_mutex::{LockError, auto_mutex};

/// No code calls this function.
#[auto_mutex(ns = "library")]
pub fn never_called() -> Result<(), LockError> {
    Ok(())
}

/// A generic type that no code instantiates.
pub struct Shelf<T>(pub T);

#[auto_mutex(ns = "library", expire = 5)]
impl<T: std::fmt::Display> Shelf<T> {
    /// No code calls this method, so the compiler generates no code for it.
    #[auto_mutex(key = (self.0, "a:b ü%"))]
    pub fn tidy<N: Into<u64>>(&self, n: N) -> Result<u64, LockError> {
        Ok(n.into())
    }
}
