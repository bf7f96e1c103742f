//! The store that the show uses.

use std::fmt;

use auto_mutex::{Client, Config, SetupError};
use auto_mutex_examples::is_set;

use crate::Failure;
use crate::plan::{EXPIRE_OF_THREADS, Fate, LEASE};
use crate::postgres;
use crate::server::Server;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Redis,
    Postgres,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Redis => "Redis",
            Self::Postgres => postgres::NAME,
        }
    }
}

/// The store; it keeps a private server alive.
pub(crate) enum Store {
    /// The user's Redis or PostgreSQL, of `AUTO_MUTEX_URL`.
    Given(Kind),
    /// A server started by this process.
    Private(Kind, Server),
    /// Memory of this process.
    Memory,
}

impl Store {
    /// Finds a store, and checks that it can be used.
    pub(crate) fn find(kind: Kind) -> Result<Self, Failure> {
        let store = match kind {
            Kind::Redis if is_given("memory:") => Self::Memory,
            Kind::Redis if is_given("postgres") => Self::Given(Kind::Postgres),
            Kind::Postgres if is_set("AUTO_MUTEX_URL") && !is_given("postgres") => {
                return Err("AUTO_MUTEX_URL is not the URL of a PostgreSQL".into());
            }
            _ if is_set("AUTO_MUTEX_URL") => Self::Given(kind),
            Kind::Redis => {
                Server::start()?.map_or(Self::Memory, |server| Self::Private(kind, server))
            }
            Kind::Postgres => Self::Private(kind, postgres::start()?),
        };
        // A problem with the store shows here, once, and not in each worker. A server may still be starting.
        Client::connect(store.config()?.connect_timeout("60s"))?;
        Ok(store)
    }

    /// Returns the configuration with which this process reaches the store. Each show has a namespace of its own.
    pub(crate) fn config(&self) -> Result<Config, SetupError> {
        let config = match self {
            Self::Given(_) => Config::from_env()?,
            Self::Private(_, server) => Config::new(server.url())?,
            Self::Memory => Config::new("memory://cluster")?,
        };
        Ok(config.namespace(namespace()).lease(LEASE))
    }

    /// Returns the environment with which `Config::from_env` of a worker process finds the store.
    pub(crate) fn environment(&self) -> Vec<(&'static str, String)> {
        let mut variables = vec![("AUTO_MUTEX_NAMESPACE", namespace())];
        if let Self::Private(_, server) = self {
            variables.push(("AUTO_MUTEX_URL", server.url()));
        }
        variables
    }

    /// Whether the store is in this process, so that other processes cannot reach it.
    pub(crate) fn is_memory(&self) -> bool {
        matches!(self, Self::Memory)
    }

    /// Returns the fate of the victim on this store.
    pub(crate) fn fate(&self) -> Fate {
        match self {
            Self::Memory => Fate::Abandoned,
            Self::Given(_) | Self::Private(..) => Fate::Killed,
        }
    }
}

impl fmt::Display for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // The URL is not shown, because it may hold a password.
            Self::Given(kind) => write!(f, "the {} of AUTO_MUTEX_URL", kind.name())?,
            Self::Private(kind, _) => write!(f, "a {} of our own", kind.name())?,
            Self::Memory => {
                return write!(
                    f,
                    "memory:// in this process: there is no Redis, the workers are threads.\n         \
                 A thread cannot be killed, so one is abandoned inside: nobody runs it\n         \
                 any more, and its `expire` of {} s frees the lock. The kill is real with\n         \
                 redis-server on the PATH, or with AUTO_MUTEX_URL set to a Redis.",
                    EXPIRE_OF_THREADS.as_secs()
                );
            }
        }
        write!(f, "; each worker is a process")
    }
}

fn namespace() -> String {
    format!("cluster-{}", std::process::id())
}

/// Whether `AUTO_MUTEX_URL` begins with this.
fn is_given(scheme: &str) -> bool {
    std::env::var("AUTO_MUTEX_URL").is_ok_and(|url| url.starts_with(scheme))
}
