//! The parts that the handles and guards of all locks share.
//!
//! A [`Handle`] has the [`Address`] of one name, and remembers the holds that were last taken through it. A call
//! resolves the handle to an [`AcquireTarget`], and gets a [`Holding`], which every guard wraps. The
//! [`Share`](crate::store::Share) of a call is the part of the name that the call takes; [`Options`] has its other settings.
//! This folder does not distinguish a mutex from a semaphore. The public methods that are the same for all locks are
//! written once, in macros: [`options`], [`query`], [`guard`].

mod address;
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
pub(crate) use self::guard::{guard_methods, single_guard_methods, unlock_methods};
pub use self::holding::Guard;
pub(crate) use self::holding::Holding;
pub use self::info::{LockInfo, Waiter};
pub(crate) use self::last::Last;
pub(crate) use self::options::{Options, Reentry, option_methods};
pub(crate) use self::owned::owned;
pub(crate) use self::query::{freed, inspected, query_methods};
pub(crate) use self::take::{Taking, log_obtained, unless_taken};
pub(crate) use self::target::AcquireTarget;
use crate::caller::Caller;
use crate::client::Client;
use crate::error::LockError;
use crate::store::Owner;

/// The common part of all handles: the name of a lock with its client and owner. Clones share `last`.
#[derive(Clone, Debug)]
pub(crate) struct Handle {
    address: Address,
    /// The owner of the holds; `None`: the calling task.
    owner: Option<Owner>,
    last: Option<Arc<Last>>,
}

impl Handle {
    /// Without `client`, the handle uses the client that is in force where the handle is used.
    #[track_caller]
    pub(crate) fn new(client: Option<Client>, name: impl Into<String>) -> Self {
        let name = name.into();
        Self {
            last: Some(Last::of(&name)),
            address: Address::new(client, name),
            owner: None,
        }
    }

    /// Returns this handle as a handle of `owner`. All handles with the same owner share the hold.
    pub(crate) fn owned_by(mut self, owner: Owner) -> Self {
        self.owner = Some(owner);
        self
    }

    /// Finds the client and the complete name for a call of `caller`.
    #[inline]
    pub(crate) fn resolve(&self, caller: &Caller) -> Result<AcquireTarget<'_>, LockError> {
        Ok(AcquireTarget {
            owner: self.owner.as_ref(),
            last: self.last.as_ref(),
            ..self.address.resolve(caller)?
        })
    }
}
