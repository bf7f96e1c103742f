//! The types that options accept: a trait per option, so that the compiler can explain what is wrong with other types.

use std::fmt::{Display, Write as _};
use std::ops::Deref;

use super::answer::{AtOnce, Inside};
use crate::base::duration::ToDuration;
use crate::locks::client::Client;

/// No type implements this trait. It allows a second implementation of traits with a marker `M`. With a single one, the
/// compiler would report its unmet bounds and propose traits of this module.
pub trait Nothing {}

#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be part of a lock's key, its owner or a leader's value: it does not implement `Display`",
    label = "needs `Display`",
    note = "use a field or a method that can be displayed (`key = order.id`, `owner = session.id`), or implement `Display` (a type parameter needs the bound)"
)]
pub trait KeyPart<M> {
    /// Returns `false` if `Display` failed, and leaves `text` incomplete.
    fn write(&self, text: &mut String) -> bool;
}

#[diagnostic::do_not_recommend]
impl<T: Display + ?Sized> KeyPart<AtOnce> for T {
    fn write(&self, text: &mut String) -> bool {
        write!(text, "{self}").is_ok()
    }
}

#[diagnostic::do_not_recommend]
impl<T: Nothing + ?Sized> KeyPart<Inside> for T {
    fn write(&self, _: &mut String) -> bool {
        false
    }
}

#[diagnostic::on_unimplemented(
    message = "`keys` cannot iterate over `{Self}`",
    label = "not a list",
    note = "write a list (`keys = [from, to]`), or what yields the keys (`keys = ids`, `keys = orders.iter().map(|order| order.id)`)"
)]
pub trait KeyList<M> {
    /// Has no bound, so that the compiler can tell whether the list or its keys are wrong.
    type Key;

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
impl<T: Nothing> KeyList<Inside> for T {
    type Key = T;

    fn list(self) -> impl Iterator<Item = T> {
        std::iter::empty()
    }
}

/// The types that `keys` accepts if its value is a place expression, which is borrowed, not moved. `M` tells apart
/// values and references.
#[diagnostic::on_unimplemented(
    message = "`keys` cannot iterate over `{Self}`",
    label = "not a list",
    note = "write a list (`keys = [from, to]`), or what yields the keys (`keys = ids`, `keys = orders.iter().map(|order| order.id)`)",
    note = "parameters are only borrowed: clone one that is an iterator (`keys = ids.clone()`)"
)]
pub trait KeyPlace<'p, M> {
    type Key;

    fn list(&'p self) -> impl Iterator<Item = Self::Key>;
}

#[diagnostic::do_not_recommend]
impl<'p, T: ?Sized + 'p> KeyPlace<'p, AtOnce> for T
where
    &'p T: IntoIterator,
{
    type Key = <&'p T as IntoIterator>::Item;

    fn list(&'p self) -> impl Iterator<Item = Self::Key> {
        self.into_iter()
    }
}

#[diagnostic::do_not_recommend]
impl<'p, 'a: 'p, T: ?Sized> KeyPlace<'p, Inside> for &'a T
where
    &'a T: IntoIterator,
{
    type Key = <&'a T as IntoIterator>::Item;

    fn list(&'p self) -> impl Iterator<Item = Self::Key> {
        (*self).into_iter()
    }
}

#[diagnostic::do_not_recommend]
impl<'p, 'a: 'p, T: ?Sized> KeyPlace<'p, (Inside,)> for &'a mut T
where
    &'p T: IntoIterator,
{
    type Key = <&'p T as IntoIterator>::Item;

    fn list(&'p self) -> impl Iterator<Item = Self::Key> {
        let shared: &'p T = self;
        shared.into_iter()
    }
}

#[diagnostic::do_not_recommend]
impl<'p, T: Nothing + 'p> KeyPlace<'p, ()> for T {
    type Key = &'p T;

    fn list(&'p self) -> impl Iterator<Item = &'p T> {
        std::iter::empty()
    }
}

/// A `Client`, or a type that dereferences to one in any number of steps, which `M` counts.
#[diagnostic::on_unimplemented(
    message = "`client` takes a `Client`, not `{Self}`",
    label = "not a `Client`",
    note = "it is only borrowed, so anything that dereferences to a `Client` will do (`Arc<Client>`, `State<Client>`)"
)]
pub trait IsClient<M> {
    fn client(&self) -> &Client;
}

impl IsClient<AtOnce> for Client {
    fn client(&self) -> &Client {
        self
    }
}

#[diagnostic::do_not_recommend]
impl<M, T: Deref<Target: IsClient<M>> + ?Sized> IsClient<(M,)> for T {
    fn client(&self) -> &Client {
        (**self).client()
    }
}

#[diagnostic::do_not_recommend]
impl<T: Nothing + IsClient<AtOnce> + ?Sized> IsClient<Inside> for T {
    fn client(&self) -> &Client {
        IsClient::<AtOnce>::client(self)
    }
}

#[diagnostic::on_unimplemented(
    message = "a duration is a number of seconds, a text with a unit, or a `Duration`, not `{Self}`",
    label = "not a duration",
    note = "write `100`, `0.5`, \"250ms\", or an expression that is a number, a `Duration` or a `&str`"
)]
pub trait IsDuration: ToDuration {}

#[diagnostic::do_not_recommend]
impl<T: ToDuration> IsDuration for T {}
