//! Helpers for type checks in expansions.

use std::future::Future;
use std::marker::PhantomData;

use super::answer::AtOnce;

/// Tells whether `R` is a future. For a future, an inherent method exists, and takes precedence over the one of
/// [`Otherwise`].
#[derive(Debug)]
pub struct ReturnType<R>(PhantomData<fn() -> R>);

impl<R> ReturnType<R> {
    pub const NEW: Self = Self(PhantomData);
}

#[derive(Debug)]
pub struct IsFuture(());

impl<R: Future> ReturnType<R> {
    pub fn __auto_mutex_kind(&self) -> IsFuture {
        IsFuture(())
    }
}

macro_rules! containers {
    ($($container:ty $(where $other:ident)?;)*) => {
        $(
            impl<R, $($other)?> ReturnType<$container> {
                pub fn __auto_mutex_inner(&self) -> ReturnType<R> {
                    ReturnType::NEW
                }
            }
        )*
    };
}

containers! {
    Result<R, E> where E;
    Option<R>;
    Box<R>;
    Vec<R>;
    (R,);
}

pub trait Otherwise {
    fn __auto_mutex_kind(&self) -> AtOnce {
        AtOnce(())
    }

    fn __auto_mutex_inner(&self) -> ReturnType<()> {
        ReturnType::NEW
    }
}

impl<R> Otherwise for ReturnType<R> {}

#[diagnostic::on_unimplemented(
    message = "this function returns a future, so the lock would only protect its creation",
    label = "a future under another name",
    note = "make it an `async fn`, or spell the type `impl Future<Output = …>`, `Pin<Box<dyn Future<Output = …>>>` or `BoxFuture`"
)]
pub trait Value {}

impl Value for AtOnce {}

/// Compiles only if a [`ReturnType`] returned [`AtOnce`]. This rejects functions that return a future.
pub fn require_value<K: Value>(_: K) {}

#[diagnostic::on_unimplemented(
    message = "this function returns a future, which would run after the call, without the lock",
    label = "contains a future",
    note = "await it in the body of an `async fn`, and return its output"
)]
pub trait Done {}

impl Done for AtOnce {}

/// Like [`require_value`], for async functions and for types inside the return type.
pub fn require_done<K: Done>(_: K) {}

/// Calls `make`. In the expansion, clippy would report a redundant closure.
pub fn make<T>(make: impl FnOnce() -> T) -> T {
    make()
}

/// The value of a `return` that never runs, and only tells the compiler the type of the body.
pub fn never<R>() -> R {
    unreachable!("this only tells the compiler a type")
}
