//! What the handles and guards of all locks have in common.
//!
//! A [`Handle`] is one name as a handle knows it: where it is, and what was last obtained through it. It takes
//! what a [`Demand`] says, as [`Options`] say, and gives a [`Holding`], which every guard wraps. What tells a
//! mutex from a semaphore is not known here. The public methods that are the same for all are written once, in
//! macros: [`options`], [`query`], [`guard`].

mod address;
mod demand;
mod guard;
mod holding;
mod info;
mod last;
mod leaving;
mod options;
mod owned;
mod query;
mod sought;
mod take;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::sync::Arc;

use self::address::Address;
pub(crate) use self::address::Target;
pub(crate) use self::demand::{Demand, Nested};
pub(crate) use self::guard::{guard_methods, single_guard_methods, unlock_methods};
pub use self::holding::Guard;
pub(crate) use self::holding::{Holding, Origin};
pub use self::info::{LockInfo, Waiting};
use self::last::Last;
pub(crate) use self::options::{Expire, Options, option_methods};
pub(crate) use self::owned::owned;
pub(crate) use self::query::{freed, inspected, query_methods};
pub(crate) use self::sought::Sought;
pub(crate) use self::take::{Started, is_taken, obtained};
use crate::client::Client;
use crate::error::LockError;
use crate::name::Name;
use crate::store::{Owner, Text};

/// One name as a handle and its clones know it.
#[derive(Clone, Debug)]
pub(crate) struct Handle {
    address: Address,
    /// Who has what is taken through it, if not the calling task.
    owner: Option<Owner>,
    /// Nobody else sees the handle of an annotated function's call.
    last: Option<Arc<Last>>,
}

impl Handle {
    /// A name that the user gave; without a client, of the one in force where it is used.
    pub(crate) fn named(client: Option<Client>, name: impl Into<String>) -> Self {
        Self {
            last: Some(Arc::default()),
            ..Self::of(Address::verbatim(client, name.into()))
        }
    }

    /// A complete name, for an annotated function; `meta` says who asks, in the form of the store.
    #[inline]
    pub(crate) fn at(client: Cow<'static, Client>, name: Cow<'static, Name>, meta: Text) -> Self {
        Self::of(Address::complete(client, name, meta))
    }

    /// Whoever names the same owner shares what is taken.
    pub(crate) fn owned_by(mut self, owner: Owner) -> Self {
        self.owner = Some(owner);
        self
    }

    /// Where it is now.
    #[inline]
    pub(crate) fn resolve(&self) -> Result<Target<'_>, LockError> {
        self.address.resolve()
    }

    /// Who asks, in the form of the store.
    pub(crate) fn meta(&self, client: &Client) -> Result<Text, LockError> {
        self.address.meta(client, None)
    }

    #[inline]
    fn of(address: Address) -> Self {
        Self {
            address,
            owner: None,
            last: None,
        }
    }
}
