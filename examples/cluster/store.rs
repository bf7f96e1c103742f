//! The store that the show uses.

use std::fmt;

use auto_mutex::{Client, Config, SetupError};
use auto_mutex_examples::is_set;

use crate::Failure;
use crate::plan::{EXPIRE_OF_THREADS, Fate, LEASE};
use crate::server::Server;

/// The store; it keeps a private server alive.
pub(crate) enum Store {
    /// The user's Redis, of `AUTO_MUTEX_URL`.
    Given,
    /// A Redis started by this process.
    Private(Server),
    /// Memory of this process.
    Memory,
}

impl Store {
    /// Finds a store, and checks that it can be used.
    pub(crate) fn find() -> Result<Self, Failure> {
        let store = if is_memory() {
            Self::Memory
        } else if is_set("AUTO_MUTEX_URL") {
            Self::Given
        } else {
            Server::start()?.map_or(Self::Memory, Self::Private)
        };
        // A problem with the store shows here, once, and not in each worker.
        Client::connect(store.config()?)?;
        Ok(store)
    }

    /// Returns the configuration with which this process reaches the store. Each show has a namespace of its own.
    pub(crate) fn config(&self) -> Result<Config, SetupError> {
        let config = match self {
            Self::Given => Config::from_env()?,
            Self::Private(server) => Config::new(server.url())?,
            Self::Memory => Config::new("memory://cluster")?,
        };
        Ok(config.namespace(namespace()).lease(LEASE))
    }

    /// Returns the environment with which `Config::from_env` of a worker process finds the store.
    pub(crate) fn environment(&self) -> Vec<(&'static str, String)> {
        let mut variables = vec![("AUTO_MUTEX_NAMESPACE", namespace())];
        if let Self::Private(server) = self {
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
            Self::Given | Self::Private(_) => Fate::Killed,
        }
    }
}

impl fmt::Display for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // The URL is not shown, because it may hold a password.
            Self::Given => write!(f, "the Redis of AUTO_MUTEX_URL; each worker is a process"),
            Self::Private(_) => write!(f, "a redis-server of our own; each worker is a process"),
            Self::Memory => write!(
                f,
                "memory:// in this process: there is no Redis, the workers are threads.\n         \
                 A thread cannot be killed, so one is abandoned inside: nobody runs it\n         \
                 any more, and its `expire` of {} s frees the lock. The kill is real with\n         \
                 redis-server on the PATH, or with AUTO_MUTEX_URL set to a Redis.",
                EXPIRE_OF_THREADS.as_secs()
            ),
        }
    }
}

fn namespace() -> String {
    format!("cluster-{}", std::process::id())
}

fn is_memory() -> bool {
    std::env::var("AUTO_MUTEX_URL").is_ok_and(|url| url.starts_with("memory:"))
}
