//! [`Postgres`]: the engine of a server, or of a server with its standbys.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use auto_mutex_core::store::{
    Address, Checked, Dialer, Engine, Layout, MemberId, Reader, Scheme, Secret, Source,
    StoreOptions, Unconnected, same_kind,
};
use tokio_postgres::config::ChannelBinding;

use crate::driver::unconnected;
use crate::reader::Inspector;
use crate::session::Connector;
use crate::url;

inventory::submit! {
    Scheme { names: &["postgres", "postgresql"], parse: url::parse, of_several: None }
}

/// The servers of a URL, one of which takes writes, and how to connect to them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Postgres {
    pub(crate) servers: Vec<Address>,
    pub(crate) user: Option<Secret>,
    pub(crate) password: Option<Secret>,
    /// Called for each connection. With a provider, `user` and `password` are `None`.
    pub(crate) source: Option<Source>,
    pub(crate) pass_file: Option<PathBuf>,
    /// `None` for the database with the name of the user.
    pub(crate) database: Option<Secret>,
    pub(crate) application: Option<String>,
    pub(crate) options: Option<Secret>,
    pub(crate) tls: Tls,
    pub(crate) is_shuffled: bool,
    pub(crate) dialer: Option<Dialer>,
    pub(crate) hears: Hears,
}

/// How a client learns what other clients do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Hears {
    /// By messages, on the connection of its requests.
    Directly,
    /// By messages, on a connection of their own. That of the requests may come from a pooler.
    On(Box<Postgres>),
    /// By asking. The connection may come from a pooler.
    Asking(Duration),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tls {
    pub(crate) mode: TlsMode,
    pub(crate) binding: ChannelBinding,
    pub(crate) ca: Option<PathBuf>,
    pub(crate) identity: Option<(PathBuf, PathBuf)>,
    /// The name required in the server's certificate; `None` for the host in the address.
    pub(crate) server_name: Option<String>,
}

impl Default for Tls {
    fn default() -> Self {
        Self {
            mode: TlsMode::Prefer,
            binding: ChannelBinding::Prefer,
            ca: None,
            identity: None,
            server_name: None,
        }
    }
}

/// `sslmode`, with the meaning that libpq gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TlsMode {
    Disable,
    /// TLS if the server has it, without a look at its certificate.
    Prefer,
    /// TLS, without a look at the certificate.
    Require,
    /// The certificate must be signed by a trusted authority.
    VerifyCa,
    /// And it must have the name of the host.
    VerifyFull,
}

impl Postgres {
    pub(crate) fn at(servers: Vec<Address>) -> Self {
        Self {
            servers,
            user: None,
            password: None,
            source: None,
            pass_file: None,
            database: None,
            application: None,
            options: None,
            tls: Tls::default(),
            is_shuffled: false,
            dialer: None,
            hears: Hears::Directly,
        }
    }

    /// The name of the database, if the URL tells it.
    pub(crate) fn database(&self) -> Option<&str> {
        let named = self.database.as_ref().or(self.user.as_ref());
        named.map(Secret::expose)
    }

    pub(crate) fn listed(&self) -> String {
        let servers: Vec<_> = self.servers.iter().map(Address::to_string).collect();
        servers.join(",")
    }

    /// The same, also for the connection of the messages.
    fn everywhere(&self, change: &dyn Fn(&mut Self)) -> Self {
        let mut changed = self.clone();
        change(&mut changed);
        if let Hears::On(listener) = &mut changed.hears {
            change(listener);
        }
        changed
    }
}

impl Engine for Postgres {
    fn scheme(&self) -> &'static str {
        "postgres"
    }

    fn layout(&self) -> Layout {
        match self.servers.len() {
            1 => Layout::OneServer,
            _ => Layout::Failover,
        }
    }

    fn servers(&self) -> String {
        self.listed()
    }

    fn is_same_store(&self, other: &dyn Engine) -> bool {
        same_kind::<Self>(other).is_some_and(|it| {
            let mut servers = it.servers.iter();
            it.database() == self.database() && servers.any(|it| self.servers.contains(it))
        })
    }

    fn dialed_by(&self, dialer: &Dialer) -> Option<Arc<dyn Engine>> {
        let is_tcp = |address: &Address| matches!(address, Address::Tcp { .. });
        if !self.servers.iter().any(is_tcp) {
            return None;
        }
        Some(Arc::new(
            self.everywhere(&|it| it.dialer = Some(dialer.clone())),
        ))
    }

    fn asking(&self, source: &Source) -> Result<Arc<dyn Engine>, &'static str> {
        // A user without a password is usual, because the token of a provider (IAM) is for a user that the URL names.
        let mut all = [Some(self), self.listener()].into_iter().flatten();
        if all.any(|it| it.password.is_some()) {
            return Err("the URL has a password, too: leave that to the provider");
        }
        let asking = self.everywhere(&|it| it.source = Some(source.clone()));
        Ok(Arc::new(asking))
    }

    fn check(&self, options: &StoreOptions) -> Checked {
        if options.replicas.is_some() {
            return Err((
                "replicas",
                "the locks are in unlogged tables of PostgreSQL, which its standbys never have",
            ));
        }
        if options.trust_failover {
            return Err((
                "trust_failover",
                "the locks are in unlogged tables of PostgreSQL, so a standby that takes over has none of them",
            ));
        }
        Ok(())
    }

    fn unconnected(&self, options: &StoreOptions, member: MemberId) -> Unconnected {
        unconnected(Connector::new(self.clone(), options, member))
    }

    fn reader(&self, options: &StoreOptions) -> Box<dyn Reader> {
        Box::new(Inspector::new(Connector::reading(self.clone(), options)))
    }
}

impl Postgres {
    pub(crate) fn listener(&self) -> Option<&Self> {
        match &self.hears {
            Hears::On(listener) => Some(listener),
            _ => None,
        }
    }
}
