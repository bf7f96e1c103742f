//! [`Address`]: a name as the user gave it, and the client that it belongs to.

use std::borrow::Cow;
use std::panic::Location;
use std::sync::OnceLock;

use super::AcquireTarget;
use crate::client::Client;
use crate::error::LockError;
use crate::name::Name;
use crate::store::SharedStr;

/// A client, or the one in force where the address is used, and a name.
#[derive(Clone, Debug)]
pub(crate) struct Address {
    client: Option<Client>,
    /// The client's namespace comes before it.
    name: String,
    /// Where the program made the handle.
    at: &'static Location<'static>,
    /// Kept for the first client only: most programs have one.
    first: OnceLock<Resolved>,
}

/// The meaning of an address for one client.
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

    /// The client to use and the complete name, for nobody in particular.
    #[inline]
    pub(crate) fn resolve(&self) -> Result<AcquireTarget<'_>, LockError> {
        let client = match &self.client {
            Some(client) => Cow::Borrowed(client),
            None => Client::in_force()?,
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
