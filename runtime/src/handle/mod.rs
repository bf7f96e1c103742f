//! The parts that the handles and guards of all locks share.
//!
//! A [`Handle`] has the [`Address`] of one name, and remembers which locks were last taken through it. A call resolves
//! it to an [`AcquireTarget`], and gets a [`Holding`], which every guard wraps. The [`Share`](crate::store::Share)
//! says how much of the name to take, and [`Options`] how. This folder does not know what distinguishes a mutex from a semaphore. The public
//! methods that are the same for all locks are written once, in macros: [`options`], [`query`], [`guard`].

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
use self::last::Last;
pub(crate) use self::options::{Options, option_methods};
pub(crate) use self::owned::owned;
pub(crate) use self::query::{freed, inspected, query_methods};
pub(crate) use self::take::{Taking, log_obtained, unless_taken};
pub(crate) use self::target::{AcquireTarget, note_holds, want, within};
use crate::client::Client;
use crate::error::LockError;
use crate::store::Owner;

/// One name, as a handle and its clones know it.
#[derive(Clone, Debug)]
pub(crate) struct Handle {
    address: Address,
    /// The owner that shares the holds, if not the calling task.
    owner: Option<Owner>,
    last: Option<Arc<Last>>,
}

impl Handle {
    /// Without `client`, the handle uses the client that is in force where it is used.
    #[track_caller]
    pub(crate) fn new(client: Option<Client>, name: impl Into<String>) -> Self {
        Self {
            address: Address::new(client, name),
            owner: None,
            last: Some(Arc::default()),
        }
    }

    /// The same lock for `owner`: all handles with the same owner share the hold.
    pub(crate) fn owned_by(mut self, owner: Owner) -> Self {
        self.owner = Some(owner);
        self
    }

    /// The target of a call.
    #[inline]
    pub(crate) fn resolve(&self) -> Result<AcquireTarget<'_>, LockError> {
        Ok(AcquireTarget {
            owner: self.owner.as_ref(),
            last: self.last.as_ref(),
            ..self.address.resolve()?
        })
    }
}
