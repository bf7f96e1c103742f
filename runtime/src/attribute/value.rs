//! The types that options accept. These are separate traits, so that the compiler can explain what is wrong with other
//! types.

use std::fmt::{Display, Write as _};
use std::time::Duration;

use super::answer::{AtOnce, Inside};
use crate::config::{self, IntoDuration};

/// A type that can be a part of a key.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be part of a lock's key: it does not implement `Display`",
    label = "needs `Display`",
    note = "use a field or a method that can be displayed (`key = order.id`), or implement `Display`"
)]
pub trait KeyPart {
    /// Returns `false` if the `Display` failed; then `text` is incomplete.
    fn write(&self, text: &mut String) -> bool;
}

#[diagnostic::do_not_recommend]
impl<T: Display + ?Sized> KeyPart for T {
    fn write(&self, text: &mut String) -> bool {
        write!(text, "{self}").is_ok()
    }
}

/// The types that `keys` accepts. The macro borrows place expressions, so `M` distinguishes values from references to
/// references.
#[diagnostic::on_unimplemented(
    message = "`keys` cannot iterate over `{Self}`",
    label = "not a list",
    note = "write a list (`keys = [from, to]`), or what yields the keys (`keys = ids`, `keys = orders.iter().map(|order| order.id)`)",
    note = "what the function is given is only borrowed: an iterator among its parameters has to be cloned (`keys = ids.clone()`)"
)]
pub trait KeyList<M> {
    /// A key. It has no bound, so that the compiler can say whether the list or its keys are wrong.
    type Key;

    /// All of them.
    fn list(self) -> impl Iterator<Item = Self::Key>;
}

#[diagnostic::do_not_recommend]
impl<T: IntoIterator> KeyList<AtOnce> for T {
    type Key = T::Item;

    fn list(self) -> impl Iterator<Item = T::Item> {
        self.into_iter()
    }
}

#[diagnostic::do_not_recommend]
impl<'a, T: ?Sized> KeyList<Inside> for &&'a T
where
    &'a T: IntoIterator,
{
    type Key = <&'a T as IntoIterator>::Item;

    fn list(self) -> impl Iterator<Item = Self::Key> {
        (*self).into_iter()
    }
}

/// A type that can name an owner.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot name the owner of a lock: it does not implement `Display`",
    label = "needs `Display`",
    note = "use a field or a method that can be displayed (`owner = session.id`), or implement `Display`"
)]
pub trait OwnerName {
    /// `None` if the `Display` failed.
    fn name(&self) -> Option<String>;
}

#[diagnostic::do_not_recommend]
impl<T: Display + ?Sized> OwnerName for T {
    fn name(&self) -> Option<String> {
        let mut name = String::new();
        write!(name, "{self}").is_ok().then_some(name)
    }
}

/// A length of time.
#[diagnostic::on_unimplemented(
    message = "a length of time is a number of seconds, a text with a unit, or a `Duration`, not `{Self}`",
    label = "not a length of time",
    note = "write `100`, `0.5`, \"250ms\", or an expression of the type `Duration`, of a type of numbers, or `&str`"
)]
pub trait IsDuration {
    /// Its length, or what is wrong with it.
    fn length(self) -> Result<Duration, &'static str>;

    /// Like [`length`](Self::length), for `block`.
    fn block(self) -> Result<Duration, &'static str>;
}

#[diagnostic::do_not_recommend]
impl<T: IntoDuration> IsDuration for T {
    fn length(self) -> Result<Duration, &'static str> {
        config::length(self)
    }

    fn block(self) -> Result<Duration, &'static str> {
        config::block(self)
    }
}

/// A `u32`.
#[diagnostic::on_unimplemented(
    message = "an expression for `permits` has the type `u32`, not `{Self}`",
    label = "not a `u32`",
    note = "convert it, and say what becomes of a number that is too large: `u32::try_from(size).unwrap_or(u32::MAX)` ends the call with an error"
)]
pub trait IsPermits {
    /// Itself.
    fn permits(self) -> u32;
}

impl IsPermits for u32 {
    fn permits(self) -> u32 {
        self
    }
}
