//! Annotated functions of a library, for what is only seen from another crate.

use auto_mutex::{LockError, auto_mutex};

/// Nobody calls it.
#[auto_mutex(ns = "library")]
pub fn never_called() -> Result<(), LockError> {
    Ok(())
}

/// Generic, and nobody makes an instance of it.
pub struct Shelf<T>(pub T);

#[auto_mutex(ns = "library", expire = 5)]
impl<T: std::fmt::Display> Shelf<T> {
    /// Never compiled to code.
    #[auto_mutex(key = (self.0, "a:b ü%"))]
    pub fn tidy<N: Into<u64>>(&self, n: N) -> Result<u64, LockError> {
        Ok(n.into())
    }
}
