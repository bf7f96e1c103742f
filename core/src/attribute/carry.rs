//! Return types that can carry an error for which there is no handler.

use super::answer::{AtOnce, Inside};
use super::value::Nothing;
use crate::base::error::LockError;

#[diagnostic::on_unimplemented(
    message = "the return type `{Self}` cannot carry a `LockError`",
    label = "what should a call return if it does not get the lock?",
    note = "return `Result<_, E>` with an error `E` that implements `From<auto_mutex::LockError>`",
    note = "or answer with functions or closures: `on_timeout = …, on_error = …`",
    note = "or return the default, or panic: `on_timeout = skip, on_error = panic`",
    note = "in an annotated block, a function that needs no lock gets `#[auto_mutex::no_auto_mutex]`"
)]
pub trait FromLockError<M> {
    fn from_lock_error(error: LockError) -> Self;
}

impl<M, T, E: ErrorFromLockError<M>> FromLockError<M> for Result<T, E> {
    fn from_lock_error(error: LockError) -> Self {
        Err(E::error_from_lock_error(error))
    }
}

#[diagnostic::on_unimplemented(
    message = "the error type `{Self}` cannot be made from a `LockError`",
    label = "needs `From<auto_mutex::LockError>`",
    note = "implement `From<auto_mutex::LockError>` for `{Self}` (a type parameter needs the bound); a type of another crate cannot implement it: return your own error that wraps both",
    note = "or answer with functions or closures: `on_timeout = …, on_error = …`",
    note = "or return the default, or panic: `on_timeout = skip, on_error = panic`"
)]
pub trait ErrorFromLockError<M> {
    fn error_from_lock_error(error: LockError) -> Self;
}

#[diagnostic::do_not_recommend]
impl<E: From<LockError>> ErrorFromLockError<AtOnce> for E {
    fn error_from_lock_error(error: LockError) -> Self {
        error.into()
    }
}

#[diagnostic::do_not_recommend]
impl<E: Nothing + From<LockError>> ErrorFromLockError<Inside> for E {
    fn error_from_lock_error(error: LockError) -> Self {
        error.into()
    }
}

#[diagnostic::on_unimplemented(
    message = "`on_error` does not answer a timeout, and the return type `{Self}` cannot carry one",
    label = "what should a call return after a timeout?",
    note = "add `on_timeout = …`: a function, a closure, `skip` or `panic`",
    note = "or return `Result<_, E>` with an error `E` that implements `From<auto_mutex::LockError>`"
)]
pub trait FromTimeout<M> {
    fn from_timeout(error: LockError) -> Self;
}

#[diagnostic::do_not_recommend]
impl<M, R: FromLockError<M>> FromTimeout<M> for R {
    fn from_timeout(error: LockError) -> Self {
        R::from_lock_error(error)
    }
}

#[diagnostic::on_unimplemented(
    message = "`on_timeout` answers a timeout only, and the return type `{Self}` cannot carry the other errors",
    label = "what should a call return if the lock is lost or the store does not answer?",
    note = "add `on_error = …`: a function, a closure, `skip` or `panic`",
    note = "or return `Result<_, E>` with an error `E` that implements `From<auto_mutex::LockError>`"
)]
pub trait FromOtherError<M> {
    fn from_other_error(error: LockError) -> Self;
}

#[diagnostic::do_not_recommend]
impl<M, R: FromLockError<M>> FromOtherError<M> for R {
    fn from_other_error(error: LockError) -> Self {
        R::from_lock_error(error)
    }
}
