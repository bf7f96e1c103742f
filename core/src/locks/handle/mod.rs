//! What the handles and guards of all kinds of lock have in common. A call resolves its [`Handle`] to an
//! [`AcquireTarget`], and gets a [`Holding`], which its guard wraps. Only the `Share` tells the kind of lock here.
//! Public methods shared by all locks are written once, in macros: [`options`], [`query`], [`guard`].

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

use std::borrow::Cow;
use std::panic::Location;
use std::sync::{Arc, OnceLock};

pub(crate) use self::guard::{guard_methods, single_guard_methods, unlock_methods};
pub use self::holding::Guard;
pub(crate) use self::holding::Holding;
pub use self::info::{LockInfo, Waiter};
pub(crate) use self::last::Last;
pub(crate) use self::options::{HandleOptions, Options, Reentry, option_methods, retain_method};
pub(crate) use self::owned::owned;
pub(crate) use self::query::query_methods;
pub(crate) use self::take::{Taking, log_obtained, unless_taken};
pub(crate) use self::target::AcquireTarget;
use crate::base::error::LockError;
use crate::base::name::Name;
use crate::caller::Caller;
use crate::locks::client::Client;
use crate::store::SharedStr;

#[derive(Clone, Debug)]
pub(crate) struct Handle {
    /// `None` for the client in force where the handle is used.
    client: Option<Client>,
    at: &'static Location<'static>,
    /// The id, complete name and meta for the first client that uses the handle; the last two are missing if the name
    /// is invalid. Most programs have only one client.
    first: OnceLock<(u64, Option<(Name, SharedStr)>)>,
    /// `None` if the calling task is the owner.
    pub(crate) owner: Option<Arc<str>>,
    pub(crate) options: HandleOptions,
    last: Arc<Last>,
}

impl Handle {
    #[track_caller]
    pub(crate) fn new(client: Option<Client>, name: impl Into<String>) -> Self {
        Self {
            last: Last::of(name.into()),
            client,
            at: Location::caller(),
            first: OnceLock::new(),
            owner: None,
            options: HandleOptions::default(),
        }
    }

    #[inline]
    pub(crate) fn resolve(&self, caller: &Caller) -> Result<AcquireTarget<'_>, LockError> {
        let client = match &self.client {
            Some(client) => Cow::Borrowed(client),
            None => Client::in_force(caller)?,
        };
        let complete = || self.complete(&client);
        let first = || (client.id(), complete().ok());
        let (name, meta) = match self.first.get_or_init(first) {
            (id, Some((name, meta))) if *id == client.id() => (Cow::Borrowed(name), meta.clone()),
            _ => {
                let (name, meta) = complete()?;
                (Cow::Owned(name), meta)
            }
        };
        client.core().check(&name)?;
        Ok(AcquireTarget {
            client,
            name,
            meta,
            owner: self.owner.as_ref(),
            last: Some(&self.last),
        })
    }

    fn complete(&self, client: &Client) -> Result<(Name, SharedStr), LockError> {
        let name = self.last.name();
        let at = || format!("{name} at {}:{}", self.at.file(), self.at.line());
        let site = client.core().settings().site.clone().unwrap_or_else(at);
        let name = Name::verbatim(client.namespace(), name)?;
        Ok((name, client.core().meta(&site)))
    }
}
