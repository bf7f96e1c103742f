//! Small helpers of expansions about types: is it a future, and what does the body return.

use std::future::Future;
use std::marker::PhantomData;

/// Asks whether `R` is a future: an inherent method comes before a trait's.
#[derive(Debug)]
pub struct Probe<R>(PhantomData<fn() -> R>);

impl<R> Probe<R> {
    /// The question.
    pub const NEW: Self = Self(PhantomData);
}

/// It is.
#[derive(Debug)]
pub struct IsFuture(());
/// It is not.
#[derive(Debug)]
pub struct IsValue(());

impl<R: Future> Probe<R> {
    /// The answer.
    #[must_use]
    pub fn __auto_mutex_kind(&self) -> IsFuture {
        IsFuture(())
    }
}

/// The answer for what is no future.
pub trait Otherwise {
    /// The answer.
    fn __auto_mutex_kind(&self) -> IsValue {
        IsValue(())
    }
}

impl<R> Otherwise for Probe<R> {}

/// What the return type of a sync function must be.
#[diagnostic::on_unimplemented(
    message = "this function returns a future, so the lock would only protect its making",
    label = "a future under another name",
    note = "make it an `async fn`, or spell the type `impl Future<Output = …>`, `Pin<Box<dyn Future<Output = …>>>` or `BoxFuture`"
)]
pub trait Value {}

impl Value for IsValue {}

/// Does not compile for a future.
pub fn require_value<K: Value>(_: K) {}

/// Calls `make` once. Written as a call in the expansion, lints about users' code would apply.
pub fn make<T>(make: impl FnOnce() -> T) -> T {
    make()
}

/// Stands for a return that never happens, so that its type is known.
///
/// # Panics
///
/// If it does happen.
#[must_use]
pub fn never<R>() -> R {
    unreachable!("this only tells the compiler a type")
}
