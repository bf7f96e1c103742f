//! Keeps the body of an annotated function from releasing its guard.

use std::future::{Ready, ready};

use crate::base::error::LockError;
use crate::locks::handle::Guard;

/// No type implements this trait.
#[diagnostic::on_unimplemented(
    message = "the body only borrows its guard, so it cannot release the lock",
    label = "the lock is released when the body ends",
    note = "to release it earlier, move what needs the lock into a separate function, and annotate that one",
    note = "or take the lock with a handle, whose guard you own: `Mutex::new(name).lock().await?`"
)]
pub trait MayRelease {}

/// One method for each that consumes a guard. With the trait in scope in the body, the compiler finds these methods
/// before those of the borrowed guard, and a call fails with the message of [`MayRelease`]. For a guard that the body
/// took itself, the compiler finds the guard's own methods.
pub trait Borrowed: Sized {
    fn unlock(self) -> Ready<Result<bool, LockError>>
    where
        Self: MayRelease,
    {
        ready(Ok(false))
    }

    fn blocking_unlock(self) -> Result<bool, LockError>
    where
        Self: MayRelease,
    {
        Ok(false)
    }

    fn release(self) -> Ready<Result<u32, LockError>>
    where
        Self: MayRelease,
    {
        ready(Ok(0))
    }

    fn blocking_release(self) -> Result<u32, LockError>
    where
        Self: MayRelease,
    {
        Ok(0)
    }

    fn downgrade(self) -> Ready<Result<Self, LockError>>
    where
        Self: MayRelease,
    {
        ready(Ok(self))
    }

    fn blocking_downgrade(self) -> Result<Self, LockError>
    where
        Self: MayRelease,
    {
        Ok(self)
    }
}

impl<G: Guard> Borrowed for &G {}
