//! The results of handlers, and the handlers `skip` and `panic`.

use std::error::Error;
use std::future::{Future, Ready, ready};

use crate::base::error::LockError;

/// Marks a type that is the requested one, not a future of it; or a function that only takes the error.
#[derive(Debug)]
pub struct AtOnce(pub(super) ());
/// Marks a type that contains the requested one (a future, `Result` or reference); or a function that also takes
/// `self`.
#[derive(Debug)]
pub struct Inside(());

/// Gives access to the return type of a function type, because `!` cannot be named yet.
pub trait Returns {
    type Output;
}

impl<T> Returns for fn() -> T {
    type Output = T;
}

/// The result of a handler of an async function: `R`, or a future of `R`. `M` distinguishes the two.
#[diagnostic::on_unimplemented(
    message = "the handler returns `{Self}`, but the function returns `{R}`",
    label = "must return `{R}`, or a future of it",
    note = "a handler must return the annotated function's type; it may be sync or async"
)]
pub trait Answer<M, R> {
    type Future: Future<Output = R>;

    fn answer(self) -> Self::Future;
}

impl<R> Answer<AtOnce, R> for R {
    type Future = Ready<R>;

    fn answer(self) -> Ready<R> {
        ready(self)
    }
}

impl<R, F: Future<Output = R>> Answer<Inside, R> for F {
    type Future = F;

    fn answer(self) -> F {
        self
    }
}

#[diagnostic::do_not_recommend]
impl<R> Answer<(), R> for <fn() -> ! as Returns>::Output {
    type Future = Ready<R>;

    fn answer(self) -> Ready<R> {
        self
    }
}

/// Stands in for `self` if the function has none, or if the body may have consumed it.
#[derive(Debug)]
pub struct NoSelf;

/// A handler of `on_error` that is an associated function, such as `Self::failed`. `S` is the annotated method's
/// `self`. `M` tells apart the ways to call the handler: without `self`, with it, and with `&self` where the method has
/// `&mut self`.
#[diagnostic::on_unimplemented(
    message = "this function does not take what `on_error` gives",
    label = "takes neither a `LockError` alone, nor `self` and a `LockError`",
    note = "`self` is given in a sync method, and in an async one with `&self`: elsewhere the body may have consumed it",
    note = "for anything else write a closure, which sees `self` and the parameters: `on_error = |error| …`"
)]
pub trait OnError<M, S> {
    type Answer;

    fn call(self, this: S, error: LockError) -> Self::Answer;
}

#[diagnostic::do_not_recommend]
impl<S, A, F: FnOnce(LockError) -> A> OnError<AtOnce, S> for F {
    type Answer = A;

    fn call(self, _: S, error: LockError) -> A {
        self(error)
    }
}

#[diagnostic::do_not_recommend]
impl<S, A, F: FnOnce(S, LockError) -> A> OnError<Inside, S> for F {
    type Answer = A;

    fn call(self, this: S, error: LockError) -> A {
        self(this, error)
    }
}

#[diagnostic::do_not_recommend]
impl<'a, S: ?Sized, A, F: FnOnce(&'a S, LockError) -> A> OnError<(), &'a mut S> for F {
    type Answer = A;

    fn call(self, this: &'a mut S, error: LockError) -> A {
        self(this, error)
    }
}

pub fn on_error<M, S, F: OnError<M, S>>(handler: F, this: S, error: LockError) -> F::Answer {
    handler.call(this, error)
}

/// Implemented for a handler that is `F`, the function of the same name in the block.
#[diagnostic::on_unimplemented(
    message = "this handler has the name of a function in this block, but names another one",
    label = "not the function in this block",
    note = "a function that a handler calls takes no lock, so it must be the right one: `<Self as Trait>::function` names the block's; call another in a closure"
)]
pub trait IsOwn<F> {}

impl<F> IsOwn<F> for F {}
/// This second implementation keeps the compiler from inferring `F` from the handler, and the handler's type out of its
/// error message.
impl<F> IsOwn<Option<F>> for F {}

/// Returns `handler`. Compiles only if `handler` is the function in the block, and not another one of that name.
pub fn own<H: IsOwn<F>, F>(handler: H, _own: F) -> H {
    handler
}

/// An `async fn` would store the answer twice.
pub fn answer<M, R, A: Answer<M, R>>((answer,): (A,)) -> A::Future {
    answer.answer()
}

#[diagnostic::on_unimplemented(
    message = "`skip` returns a default, but `{Self}` has none",
    label = "needs `Default`, or to be a `Result` of something that has it",
    note = "implement `Default` for it, or answer with a function or a closure instead of `skip`"
)]
pub trait Skip<M> {
    fn skip() -> Self;
}

impl<T: Default> Skip<AtOnce> for T {
    fn skip() -> T {
        T::default()
    }
}

impl<T: Default, E> Skip<Inside> for Result<T, E> {
    fn skip() -> Self {
        Ok(T::default())
    }
}

#[track_caller]
pub fn panic(error: LockError) -> ! {
    match error.source() {
        Some(cause) => panic!("{error}: {cause}"),
        None => panic!("{error}"),
    }
}
