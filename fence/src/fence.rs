//! [`Fence`]: the call that users make, for all that has tokens and all resources that check them.

use std::future::Future;
use std::pin::Pin;

use crate::error::FenceError;
use crate::token::{Token, Tokens};

/// The result of [`Fence::fence`] for an async resource.
pub type FenceFuture<'a, T = ()> = Pin<Box<dyn Future<Output = Result<T, FenceError>> + Send + 'a>>;

/// Fences writes: for guards and for all else that has [`Tokens`].
pub trait Fence: Tokens {
    /// Checks the fencing tokens in `resource`, which refuses them from now on to all earlier holders.
    ///
    /// The result is a [`FenceFuture`] for an async resource, and a `Result` for a blocking one. If it is an error,
    /// write nothing: roll the transaction back, as dropping it does.
    ///
    /// # Errors
    ///
    /// [`FenceError::Stale`] if a later holder of the lock has written. See [`FenceError`] for the others.
    fn fence<R: Resource>(&self, resource: R) -> R::Output {
        resource.check(self.tokens())
    }
}

impl<T: Tokens + ?Sized> Fence for T {}

/// What can check fencing tokens: the transaction of a database, for example.
pub trait Resource {
    /// A [`FenceFuture`], or a `Result` if the check blocks the thread.
    type Output;

    /// Compares each of the tokens with the greatest of its name so far, and keeps it. A resource for which another
    /// write could come between this check and the write must exclude that.
    fn check(self, tokens: Vec<Token>) -> Self::Output;
}
