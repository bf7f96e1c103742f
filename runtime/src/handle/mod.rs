//! What the handles and guards of all locks have in common.
//!
//! A [`Handle`] is one name: its [`Address`], and what was last obtained through it. A call resolves it to an
//! [`AcquireTarget`], takes what a [`Demand`] says in the way that [`Options`] say, and gets a [`Holding`], which every
//! guard wraps. What tells a mutex from a semaphore is not known here. The public methods that are the same for all
//! are written once, in macros: [`options`], [`query`], [`guard`].

mod address;
mod demand;
mod guard;
mod holding;
mod info;
mod last;
mod options;
mod owned;
mod query;
mod take;
mod target;
#[cfg(repository)]
#[cfg(test)]
mod tests;

use std::sync::Arc;

pub(crate) use self::address::Address;
pub(crate) use self::demand::Demand;
pub(crate) use self::guard::{guard_methods, single_guard_methods, unlock_methods};
pub use self::holding::Guard;
pub(crate) use self::holding::Holding;
pub use self::info::{LockInfo, Waiter};
use self::last::Last;
pub(crate) use self::options::{FOREVER, Options, option_methods};
pub(crate) use self::owned::owned;
pub(crate) use self::query::{freed, inspected, query_methods};
pub(crate) use self::take::{Taking, log_obtained, unless_taken};
pub(crate) use self::target::{AcquireTarget, want};
use crate::client::Client;
use crate::error::LockError;
use crate::store::Owner;

/// One name, as a handle and its clones know it.
#[derive(Clone, Debug)]
pub(crate) struct Handle {
    address: Address,
    /// Who shares what is taken through it, if not the calling task.
    owner: Option<Owner>,
    last: Option<Arc<Last>>,
}

impl Handle {
    /// Without a client, the name belongs to the one in force where the handle is used.
    #[track_caller]
    pub(crate) fn new(client: Option<Client>, name: impl Into<String>) -> Self {
        Self {
            address: Address::new(client, name),
            owner: None,
            last: Some(Arc::default()),
        }
    }

    /// The same lock for `owner`: all that name the same owner share what is taken.
    pub(crate) fn owned_by(mut self, owner: Owner) -> Self {
        self.owner = Some(owner);
        self
    }

    /// The lock that a call is about.
    #[inline]
    pub(crate) fn resolve(&self) -> Result<AcquireTarget<'_>, LockError> {
        Ok(AcquireTarget {
            owner: self.owner.as_ref(),
            last: self.last.as_ref(),
            ..self.address.resolve()?
        })
    }
}
