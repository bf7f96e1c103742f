//! Questions of the expansions about types: is it a future, and what does the body return?

use std::future::Future;
use std::marker::PhantomData;

/// Asks whether `R` is a future. If it is, the inherent method exists, and takes precedence over the trait's.
#[derive(Debug)]
pub struct Probe<R>(PhantomData<fn() -> R>);

impl<R> Probe<R> {
    /// A probe to call the method on.
    pub const NEW: Self = Self(PhantomData);
}

/// The answer for a future.
#[derive(Debug)]
pub struct IsFuture(());
/// The answer for anything else.
#[derive(Debug)]
pub struct IsValue(());

impl<R: Future> Probe<R> {
    /// The answer.
    #[must_use]
    pub fn __auto_mutex_kind(&self) -> IsFuture {
        IsFuture(())
    }
}

/// Has the method that the compiler finds for types that are not futures.
pub trait Otherwise {
    /// The answer.
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

/// Does not compile for a future.
pub fn require_value<K: Value>(_: K) {}

/// Calls `make`. A call written in the expansion itself would get clippy's lints about redundant closures.
pub fn make<T>(make: impl FnOnce() -> T) -> T {
    make()
}

/// A value for a `return` that never runs and only tells the compiler the type.
///
/// # Panics
///
/// If it does run.
#[must_use]
pub fn never<R>() -> R {
    unreachable!("this only tells the compiler a type")
}
