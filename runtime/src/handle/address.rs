//! [`Address`]: where a lock is, as it was given; [`Target`]: where that is now.

use crate::client::Client;
use crate::error::LockError;
use crate::name::Name;
use crate::queue::{Acquire, Answered, Want};
use crate::store::{Meta, Op, Owner, Text};

/// A client, or whichever is in force, and a name.
#[derive(Clone, Debug)]
pub(crate) struct Address {
    client: Option<Client>,
    name: Named,
}

/// How the name was given.
#[derive(Clone, Debug)]
enum Named {
    /// By the user: the namespace of the client comes before it.
    Verbatim(String),
    /// Complete; and who asks, in the form of the store.
    Complete(Name, Text),
}

/// The client to use and the complete name.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) client: Client,
    pub(crate) name: Name,
}

impl Target {
    /// Joins the queue.
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
        let name = Named::Verbatim(name);
        Self { client, name }
    }

    pub(super) fn complete(client: Client, name: Name, meta: Text) -> Self {
        let (client, name) = (Some(client), Named::Complete(name, meta));
        Self { client, name }
    }

    pub(super) fn resolve(&self) -> Result<Target, LockError> {
        let client = match &self.client {
            Some(client) => client.clone(),
            None => Client::in_force()?,
        };
        client.member().check()?;
        let name = match &self.name {
            Named::Complete(name, _) => name.clone(),
            Named::Verbatim(name) => Name::verbatim(client.namespace(), name)?,
        };
        Ok(Target { client, name })
    }

    /// Who asks, in the form of the store.
    pub(super) fn meta(&self, client: &Client, owner: Option<&Owner>) -> Text {
        let member = client.member();
        match (&self.name, owner) {
            (Named::Verbatim(name), _) => Meta::write(member.host(), member.pid(), name, owner),
            (Named::Complete(_, meta), None) => meta.clone(),
            (Named::Complete(_, meta), Some(owner)) => Meta::owned(meta, owner),
        }
    }
}
