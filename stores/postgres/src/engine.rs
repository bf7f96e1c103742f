//! [`Postgres`]: the engine of a server, or of a server with its standbys.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use auto_mutex_net::{socket::Tls, unconnected};
use auto_mutex_seam::store::{
    Address, Checked, Engine, Layout, MemberId, Reader, Scheme, Source, StoreOptions, Unconnected,
    same_kind,
};
use tokio_postgres::Config;

use crate::pipeline::Pipeline;
use crate::reader::Inspector;
use crate::session::Connector;
use crate::url;

inventory::submit! {
    Scheme { names: &["postgres", "postgresql"], parse: url::parse, of_several: None }
}

/// The servers of a URL, one of which takes writes, and how to connect to them.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Postgres {
    pub(crate) servers: Vec<Address>,
    /// Who logs in, and to which database.
    pub(crate) config: Config,
    /// Called for each connection. The URL has no password then.
    pub(crate) source: Option<Source>,
    pub(crate) tls_mode: TlsMode,
    pub(crate) tls: Tls,
    /// The pause after which a client asks for its messages, if it does not listen. Its connection may come from a
    /// pooler then.
    pub(crate) poll: Option<Duration>,
}

/// Without what may contain a piece of a password.
impl fmt::Debug for Postgres {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Postgres({})", self.servers())
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
            config: Config::new(),
            source: None,
            tls_mode: TlsMode::Prefer,
            tls: Tls::default(),
            poll: None,
        }
    }

    /// The database that the URL names, or else its user, as in libpq.
    pub(crate) fn database(&self) -> Option<&str> {
        self.config.get_dbname().or(self.config.get_user())
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
        let servers: Vec<_> = self.servers.iter().map(Address::to_string).collect();
        servers.join(",")
    }

    fn is_same_store(&self, other: &dyn Engine) -> bool {
        same_kind::<Self>(other).is_some_and(|it| {
            let mut servers = it.servers.iter();
            it.database() == self.database() && servers.any(|it| self.servers.contains(it))
        })
    }

    fn asking(&self, source: &Source) -> Result<Arc<dyn Engine>, &'static str> {
        // A user without a password is usual, because the token of a provider (IAM) is for a user that the URL names.
        match self.config.get_password() {
            Some(_) => {
                Err("the URL has a password, too: leave it out, because the provider supplies it")
            }
            None => Ok(Arc::new(Self {
                source: Some(source.clone()),
                ..self.clone()
            })),
        }
    }

    fn check(&self, options: &StoreOptions) -> Checked {
        if options.replicas.is_some() {
            let reason = "PostgreSQL has the locks in unlogged tables, which standbys never have: leave it out";
            return Err(("replicas", reason));
        }
        if options.trust_failover {
            let reason = "PostgreSQL has the locks in unlogged tables, so a standby that takes over has none of them: leave it out";
            return Err(("trust_failover", reason));
        }
        Ok(())
    }

    fn unconnected(&self, options: &StoreOptions, member: MemberId) -> Unconnected {
        let connector = Connector::new(self.clone(), options, member);
        let (store, driver) = unconnected(Pipeline::new(connector));
        (store, driver)
    }

    fn reader(&self, options: &StoreOptions) -> Box<dyn Reader> {
        Box::new(Inspector::new(Connector::reading(self.clone(), options)))
    }
}
