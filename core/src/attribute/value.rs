//! The types that options accept. Each option has a trait of its own, so that the compiler can explain what is wrong
//! with other types.

use std::fmt::{Display, Write as _};
use std::marker::PhantomData;
use std::ops::Deref;
use std::time::Duration;

use super::answer::{AtOnce, Inside};
use crate::client::Client;
use crate::duration;
use crate::duration::ToDuration;

/// No type implements this trait.
///
/// A trait with a marker `M` has an implementation for `Nothing`, so that the compiler always has two implementations
/// to choose from. With a single implementation, the compiler would report its missing bounds, and propose traits of this
/// module.
pub trait Nothing {}

/// A type that can be a part of a key.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be part of a lock's key: it does not implement `Display`",
    label = "needs `Display`",
    note = "use a field or a method that can be displayed (`key = order.id`), or implement `Display` (a type parameter needs the bound)"
)]
pub trait KeyPart<M> {
    /// Returns `false` if the `Display` failed; then `text` is incomplete.
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

/// The types that `keys` accepts by value.
#[diagnostic::on_unimplemented(
    message = "`keys` cannot iterate over `{Self}`",
    label = "not a list",
    note = "write a list (`keys = [from, to]`), or what yields the keys (`keys = ids`, `keys = orders.iter().map(|order| order.id)`)"
)]
pub trait KeyList<M> {
    /// The type of a key. It has no bound, so that the compiler can say whether the list or its keys are wrong.
    type Key;

    /// All keys.
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

/// The types that `keys` accepts if its value is a place expression: the place is borrowed, not moved. `M` distinguishes
/// values from references.
#[diagnostic::on_unimplemented(
    message = "`keys` cannot iterate over `{Self}`",
    label = "not a list",
    note = "write a list (`keys = [from, to]`), or what yields the keys (`keys = ids`, `keys = orders.iter().map(|order| order.id)`)",
    note = "what the function is given is only borrowed: an iterator among its parameters has to be cloned (`keys = ids.clone()`)"
)]
pub trait KeyPlace<'p, M> {
    /// The type of a key, as in [`KeyList`].
    type Key;

    /// All keys.
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
impl<'p, 'a: 'p, T: ?Sized> KeyPlace<'p, Behind<Inside>> for &'a mut T
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

/// A type that can name an owner.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot name the owner of a lock: it does not implement `Display`",
    label = "needs `Display`",
    note = "use a field or a method that can be displayed (`owner = session.id`), or implement `Display` (a type parameter needs the bound)"
)]
pub trait OwnerName<M> {
    /// Returns the name of the owner; `None` if the `Display` failed.
    fn name(&self) -> Option<String>;
}

#[diagnostic::do_not_recommend]
impl<T: Display + ?Sized> OwnerName<AtOnce> for T {
    fn name(&self) -> Option<String> {
        let mut name = String::new();
        write!(name, "{self}").is_ok().then_some(name)
    }
}

#[diagnostic::do_not_recommend]
impl<T: Nothing + ?Sized> OwnerName<Inside> for T {
    fn name(&self) -> Option<String> {
        None
    }
}

/// A `Client`, or a type that dereferences to one in any number of steps: `M` counts the steps.
#[diagnostic::on_unimplemented(
    message = "`client` takes a `Client`, not `{Self}`",
    label = "not a `Client`",
    note = "it is only borrowed, and may be what dereferences to one (`Arc<Client>`, `State<Client>`)"
)]
pub trait IsClient<M> {
    /// The client.
    fn client(&self) -> &Client;
}

/// Marks a type that dereferences to a type with the mark `M`.
#[derive(Debug)]
pub struct Behind<M>(PhantomData<M>);

impl IsClient<AtOnce> for Client {
    fn client(&self) -> &Client {
        self
    }
}

#[diagnostic::do_not_recommend]
impl<M, T: Deref<Target: IsClient<M>> + ?Sized> IsClient<Behind<M>> for T {
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

/// A length of time.
#[diagnostic::on_unimplemented(
    message = "a length of time is a number of seconds, a text with a unit, or a `Duration`, not `{Self}`",
    label = "not a length of time",
    note = "write `100`, `0.5`, \"250ms\", or an expression of the type `Duration`, of a type of numbers, or `&str`"
)]
pub trait IsDuration {
    /// The duration, or an explanation why the value is invalid.
    fn length(self) -> Result<Duration, &'static str>;

    /// Like [`length`](Self::length), for `block`.
    fn block(self) -> Result<Duration, &'static str>;
}

#[diagnostic::do_not_recommend]
impl<T: ToDuration> IsDuration for T {
    fn length(self) -> Result<Duration, &'static str> {
        duration::length(self)
    }

    fn block(self) -> Result<Duration, &'static str> {
        duration::block(self)
    }
}
