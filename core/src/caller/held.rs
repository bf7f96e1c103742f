//! [`assert_held!`](crate::assert_held): panics in code that runs without its lock.

use std::fmt;

use super::Caller;
use crate::base::name::{NameList, escape_shown};
use crate::queue::Holds;

/// Panics unless the lock with this name is held here: by the body of an annotated function, of `synchronize` or of a
/// [`Leader`](crate::Leader), or by a guard of a `.reentrant()` handle of this task.
///
/// The name is the complete name, as errors show it, or the last parts of it. A text may have arguments, as in
/// [`format!`]. Of nested bodies, any may have the lock. It does not ask the store.
///
/// With it, a function that must never run without a lock says so, and a test finds the caller that forgot it:
///
/// ```
/// use auto_mutex::{LockError, assert_held, auto_mutex};
///
/// #[auto_mutex(key = month)]
/// fn close_month(month: u32) -> Result<(), LockError> {
///     write(month);
///     Ok(())
/// }
///
/// fn write(month: u32) {
///     assert_held!("close_month:{month}");
///     // …
/// }
/// # let client = auto_mutex::Client::connect("memory://").unwrap();
/// # client.blocking_scope(|| close_month(5)).unwrap();
/// # std::panic::catch_unwind(|| write(5)).unwrap_err();
/// ```
///
/// A task or thread that a body spawns holds nothing. [`current`](fn@crate::current) returns an error instead of a
/// panic.
///
/// # Panics
///
/// If the lock is not held here, or is lost. The message has the locks that are held here.
#[macro_export]
macro_rules! assert_held {
    ($name:literal $($arguments:tt)*) => {
        $crate::__private::assert_held(::core::format_args!($name $($arguments)*))
    };
    ($name:expr $(,)?) => {
        $crate::__private::assert_held(::core::format_args!("{}", $name))
    };
}

#[doc(hidden)]
#[track_caller]
pub fn assert_held(wanted: fmt::Arguments<'_>) {
    let wanted = escape_shown(&wanted.to_string());
    let caller = Caller::current(true);
    let is_wanted = |name: &str| {
        let before = name.strip_suffix(&*wanted);
        before.is_some_and(|before| before.is_empty() || before.ends_with(':'))
    };
    let holds = caller.bodies().rev().flat_map(|body| {
        let holds = body.all().iter();
        holds.map(|hold| Holds::from(hold.clone()).within(body.bounds().clone()))
    });
    let found = { holds }.find(|it| is_wanted(it.first().name().as_str()));
    match found.map(|found| found.check()) {
        Some(Ok(())) => {}
        Some(Err(error)) => panic!("`{wanted}` is no longer held here: {error}"),
        None => {
            let others = caller.holds().filter(|hold| hold.is_valid());
            match NameList(others.map(|hold| hold.name())).to_string() {
                held if held.is_empty() => panic!("`{wanted}` is not held here: no lock is"),
                held => panic!("`{wanted}` is not held here, only {held}"),
            }
        }
    }
}
