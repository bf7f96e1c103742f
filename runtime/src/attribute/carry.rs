//! How a return type carries a [`LockError`] that no handler answers.

use crate::error::LockError;

/// A return type that can carry a [`LockError`].
#[diagnostic::on_unimplemented(
    message = "the return type `{Self}` cannot carry a `LockError`",
    label = "what should a call return that does not get the lock?",
    note = "return `Result<_, E>` with an error `E` that implements `From<auto_mutex::LockError>`",
    note = "or answer with functions or closures: `on_timeout = …, on_error = …`",
    note = "or return the default, or panic: `on_timeout = skip, on_error = panic`"
)]
pub trait FromLockError {
    /// The error, as this type.
    fn from_lock_error(error: LockError) -> Self;
}

impl<T, E: ErrorFromLockError> FromLockError for Result<T, E> {
    fn from_lock_error(error: LockError) -> Self {
        Err(E::error_from_lock_error(error))
    }
}

/// An error type that can be made from a [`LockError`].
#[diagnostic::on_unimplemented(
    message = "the error type `{Self}` cannot be made from a `LockError`",
    label = "needs `From<auto_mutex::LockError>`",
    note = "implement `From<auto_mutex::LockError>` for `{Self}`",
    note = "or answer with functions or closures: `on_timeout = …, on_error = …`",
    note = "or return the default, or panic: `on_timeout = skip, on_error = panic`"
)]
pub trait ErrorFromLockError {
    /// The error, as this type.
    fn error_from_lock_error(error: LockError) -> Self;
}

#[diagnostic::do_not_recommend]
impl<E: From<LockError>> ErrorFromLockError for E {
    fn error_from_lock_error(error: LockError) -> Self {
        error.into()
    }
}
