//! Helpers for the types in expansions: [`Probe`] shows whether a type is a future, [`never`] gives a body its type.

use std::future::Future;
use std::marker::PhantomData;

/// Shows whether `R` is a future. For a future, the inherent method exists, and takes precedence over the
/// method of [`Otherwise`].
#[derive(Debug)]
pub struct Probe<R>(PhantomData<fn() -> R>);

impl<R> Probe<R> {
    /// A probe, on which the expansion calls `__auto_mutex_kind`.
    pub const NEW: Self = Self(PhantomData);
}

/// The result of a [`Probe`] for a future.
#[derive(Debug)]
pub struct IsFuture(());
/// The result of a [`Probe`] for any other type.
#[derive(Debug)]
pub struct IsValue(());

impl<R: Future> Probe<R> {
    /// The type of the result shows that `R` is a future.
    #[must_use]
    pub fn __auto_mutex_kind(&self) -> IsFuture {
        IsFuture(())
    }
}

/// Has the method that the compiler finds for types that are not futures.
pub trait Otherwise {
    /// The type of the result shows that `R` is not a future.
    fn __auto_mutex_kind(&self) -> IsValue {
        IsValue(())
    }
}

impl<R> Otherwise for Probe<R> {}

/// A valid return type of a sync function.
#[diagnostic::on_unimplemented(
    message = "this function returns a future, so the lock would only protect its making",
    label = "a future under another name",
    note = "make it an `async fn`, or spell the type `impl Future<Output = …>`, `Pin<Box<dyn Future<Output = …>>>` or `BoxFuture`"
)]
pub trait Value {}

impl Value for IsValue {}

/// Compiles only if a [`Probe`] returned [`IsValue`], so the expansion rejects a function that returns a future.
pub fn require_value<K: Value>(_: K) {}

/// Calls `make`. If the expansion called the closure itself, clippy would report a redundant closure.
pub fn make<T>(make: impl FnOnce() -> T) -> T {
    make()
}

/// The value for a `return` that never runs. Such a `return` only shows the compiler the type of the body.
///
/// # Panics
///
/// If it runs.
#[must_use]
pub fn never<R>() -> R {
    unreachable!("this only tells the compiler a type")
}
