//! [`Address`]: a name as the user gave it, and its client.

use std::borrow::Cow;
use std::panic::Location;
use std::sync::OnceLock;

use super::AcquireTarget;
use crate::caller::Caller;
use crate::client::Client;
use crate::error::LockError;
use crate::name::Name;
use crate::store::SharedStr;

/// A name and its client. Without a client, the client that is in force where the address is used.
#[derive(Clone, Debug)]
pub(crate) struct Address {
    client: Option<Client>,
    /// The name without the client's namespace.
    name: String,
    /// Where the program made the handle.
    at: &'static Location<'static>,
    /// The address as the first client resolves it. Only this result is kept, because most programs have one client.
    first: OnceLock<Resolved>,
}

/// An address as one client resolves it.
#[derive(Clone, Debug)]
struct Resolved {
    client: u64,
    name: Name,
    /// Identifies the caller: see [`Meta`](crate::store::Meta).
    meta: SharedStr,
}

impl Resolved {
    fn new(client: &Client, text: &str, at: &Location<'_>) -> Result<Self, LockError> {
        let site = format!("{text} at {}:{}", at.file(), at.line());
        Ok(Self {
            client: client.id(),
            name: Name::verbatim(client.namespace(), text)?,
            meta: client.member().meta(&site),
        })
    }
}

impl Address {
    #[track_caller]
    pub(crate) fn new(client: Option<Client>, name: impl Into<String>) -> Self {
        Self {
            client,
            name: name.into(),
            at: Location::caller(),
            first: OnceLock::new(),
        }
    }

    /// Finds the client and the complete name. The target has no owner, and remembers no holds.
    #[inline]
    pub(crate) fn resolve(&self, caller: &Caller) -> Result<AcquireTarget<'_>, LockError> {
        let client = match &self.client {
            Some(client) => Cow::Borrowed(client),
            None => Client::in_force(caller)?,
        };
        client.member().check()?;
        let first = match self.first.get() {
            Some(first) => first,
            None => {
                let new = Resolved::new(&client, &self.name, self.at)?;
                self.first.get_or_init(|| new)
            }
        };
        if first.client == client.id() {
            let name = Cow::Borrowed(&first.name);
            return Ok(AcquireTarget::new(client, name, first.meta.clone(), None));
        }
        let Resolved { name, meta, .. } = Resolved::new(&client, &self.name, self.at)?;
        Ok(AcquireTarget::new(client, Cow::Owned(name), meta, None))
    }
}
