//! [`Address`]: where a lock is, as it was given; [`Target`]: where that is now.

use std::borrow::Cow;
use std::sync::OnceLock;

use crate::client::Client;
use crate::error::LockError;
use crate::name::Name;
use crate::queue::{Acquire, Answered, Want};
use crate::store::{Meta, Op, Owner, Text};

/// A client, or whichever is in force, and a name.
#[derive(Clone, Debug)]
pub(crate) struct Address {
    client: Option<Cow<'static, Client>>,
    name: Named,
}

/// How the name was given.
#[derive(Clone, Debug)]
enum Named {
    /// By the user: the namespace of the client comes before it. And what that is for the first client that it was used
    /// with: most programs have one.
    Verbatim(String, OnceLock<Known>),
    /// Complete; and who asks, in the form of the store.
    Complete(Cow<'static, Name>, Text),
}

/// A name for one client.
#[derive(Clone, Debug)]
struct Known {
    client: u64,
    name: Name,
    /// Who asks.
    meta: Text,
}

impl Known {
    fn new(client: &Client, text: &str) -> Result<Self, LockError> {
        let member = client.member();
        Ok(Self {
            client: client.id(),
            name: Name::verbatim(client.namespace(), text)?,
            meta: Meta::write(member.host(), member.pid(), text, None),
        })
    }
}

/// The client to use and the complete name.
#[derive(Clone, Debug)]
pub(crate) struct Target<'a> {
    pub(crate) client: Cow<'a, Client>,
    pub(crate) name: Cow<'a, Name>,
}

impl Target<'_> {
    /// Joins the queue.
    #[inline]
    pub(crate) fn enter(&self, want: &Want) -> Result<Acquire, LockError> {
        let member = self.client.member();
        member.with_local(&self.name, |local| local.enter(want))?
    }

    /// Asks the store about the name, or has it act on it.
    pub(crate) fn ask(&self, op: &Op) -> Result<Answered, LockError> {
        let member = self.client.member();
        member.with_local(&self.name, |local| local.query(op))
    }
}

impl Address {
    pub(super) fn verbatim(client: Option<Client>, name: String) -> Self {
        let client = client.map(Cow::Owned);
        let name = Named::Verbatim(name, OnceLock::new());
        Self { client, name }
    }

    #[inline]
    pub(super) fn complete(
        client: Cow<'static, Client>,
        name: Cow<'static, Name>,
        meta: Text,
    ) -> Self {
        let (client, name) = (Some(client), Named::Complete(name, meta));
        Self { client, name }
    }

    #[inline]
    pub(super) fn resolve(&self) -> Result<Target<'_>, LockError> {
        let client = match &self.client {
            Some(client) => Cow::Borrowed(&**client),
            None => Client::in_force()?,
        };
        client.member().check()?;
        let name = match &self.name {
            Named::Complete(name, _) => Cow::Borrowed(&**name),
            Named::Verbatim(text, known) => match first_known(&client, text, known)? {
                Some(known) => Cow::Borrowed(&known.name),
                None => Cow::Owned(Name::verbatim(client.namespace(), text)?),
            },
        };
        Ok(Target { client, name })
    }

    /// Who asks, in the form of the store.
    #[inline]
    pub(super) fn meta(&self, client: &Client, owner: Option<&Owner>) -> Result<Text, LockError> {
        let meta = match &self.name {
            Named::Complete(_, meta) => meta.clone(),
            Named::Verbatim(text, known) => match first_known(client, text, known)? {
                Some(known) => known.meta.clone(),
                None => Known::new(client, text)?.meta,
            },
        };
        Ok(match owner {
            Some(owner) => Meta::owned(&meta, owner),
            None => meta,
        })
    }
}

/// What `text` is for `client`, if that was the first one.
fn first_known<'a>(
    client: &Client,
    text: &str,
    known: &'a OnceLock<Known>,
) -> Result<Option<&'a Known>, LockError> {
    let first = match known.get() {
        Some(first) => first,
        None => {
            let new = Known::new(client, text)?;
            known.get_or_init(|| new)
        }
    };
    Ok((first.client == client.id()).then_some(first))
}
