//! [`Contender`]: the list of all measured libraries and ways of use, with their properties for the report.

use serde::{Deserialize, Serialize};

use super::{PERMITS, READERS, external};

/// A library, or a way to use it, that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Contender {
    /// Handles; the guard is dropped; every handoff goes through Redis.
    AutoMutex,
    /// As `AutoMutex`, with a runtime of two threads.
    AutoMutexThreads,
    /// Handles, with handoffs inside the process.
    AutoMutexLocal,
    /// As `AutoMutexLocal`; the release is awaited.
    AutoMutexLocalAwaited,
    /// Handles; the release is awaited.
    AutoMutexAwaited,
    /// As `AutoMutex`, with `Config::retain`: a lock that nobody asks for stays with its client.
    AutoMutexKept,
    /// As `AutoMutexKept`; the release is awaited.
    AutoMutexKeptAwaited,
    /// An annotated function.
    AutoMutexAttribute,
    AutoMutexSemaphore,
    AutoMutexRwLock,
    Rslock,
    RslockThreads,
    Distkit,
    /// As `AutoMutex`, on PostgreSQL.
    AutoMutexPostgres,
    /// As `AutoMutexAwaited`, on PostgreSQL.
    AutoMutexPostgresAwaited,
    /// As `AutoMutexLocal`, on PostgreSQL.
    AutoMutexPostgresLocal,
    /// sqlx's lock on PostgreSQL.
    PgAdvisoryLock,
    /// A row of PostgreSQL, locked by a transaction.
    SelectForUpdate,
    /// Two requests to PostgreSQL that lock nothing.
    TwoSelects,
    /// A blocking socket with the minimal commands of a lock.
    Raw,
    NodeRedisSemaphore,
    NodeRedlock,
    PythonRedis,
    PythonRedisLock,
}

impl Contender {
    /// All contenders, in the order of the tables.
    pub(crate) const ALL: [Self; 24] = [
        Self::AutoMutex,
        Self::AutoMutexThreads,
        Self::AutoMutexAwaited,
        Self::AutoMutexKept,
        Self::AutoMutexKeptAwaited,
        Self::AutoMutexAttribute,
        Self::AutoMutexLocal,
        Self::AutoMutexLocalAwaited,
        Self::AutoMutexSemaphore,
        Self::AutoMutexRwLock,
        Self::Rslock,
        Self::RslockThreads,
        Self::Distkit,
        Self::AutoMutexPostgres,
        Self::AutoMutexPostgresAwaited,
        Self::AutoMutexPostgresLocal,
        Self::PgAdvisoryLock,
        Self::SelectForUpdate,
        Self::TwoSelects,
        Self::NodeRedisSemaphore,
        Self::NodeRedlock,
        Self::PythonRedis,
        Self::PythonRedisLock,
        Self::Raw,
    ];

    /// Returns the contender of a row.
    pub(crate) fn of_label(label: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|who| who.label() == label)
    }

    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::AutoMutex => "auto-mutex",
            Self::AutoMutexThreads => "auto-mutex, 2 threads",
            Self::AutoMutexLocal => "auto-mutex, local handoff",
            Self::AutoMutexLocalAwaited => "auto-mutex, local handoff, unlock awaited",
            Self::AutoMutexAwaited => "auto-mutex, unlock awaited",
            Self::AutoMutexKept => "auto-mutex, retain",
            Self::AutoMutexKeptAwaited => "auto-mutex, retain, unlock awaited",
            Self::AutoMutexAttribute => "#[auto_mutex]",
            Self::AutoMutexSemaphore => "auto-mutex Semaphore",
            Self::AutoMutexRwLock => "auto-mutex RwLock",
            Self::Rslock => "rslock",
            Self::RslockThreads => "rslock, 2 threads",
            Self::Distkit => "distkit",
            Self::AutoMutexPostgres => "auto-mutex, PostgreSQL",
            Self::AutoMutexPostgresAwaited => "auto-mutex, PostgreSQL, unlock awaited",
            Self::AutoMutexPostgresLocal => "auto-mutex, PostgreSQL, local handoff",
            Self::PgAdvisoryLock => "PgAdvisoryLock",
            Self::SelectForUpdate => "SELECT FOR UPDATE",
            Self::TwoSelects => "two SELECT 1",
            Self::Raw => "raw limit",
            Self::NodeRedisSemaphore => "redis-semaphore (Node)",
            Self::NodeRedlock => "redlock (Node)",
            Self::PythonRedis => "redis-py",
            Self::PythonRedisLock => "python-redis-lock",
        }
    }

    pub(crate) fn is_ours(self) -> bool {
        !self.is_peer() && self.is_library() && !self.is_external()
    }

    /// Whether this is another Rust library.
    pub(crate) fn is_peer(self) -> bool {
        matches!(
            self,
            Self::Rslock
                | Self::RslockThreads
                | Self::Distkit
                | Self::PgAdvisoryLock
                | Self::SelectForUpdate
        )
    }

    pub(crate) fn is_library(self) -> bool {
        !matches!(self, Self::Raw | Self::TwoSelects)
    }

    /// Whether waiters queue at the server, so that each of them gets the lock soon after it becomes free.
    pub(crate) fn queues(self) -> bool {
        self.is_ours() || self.needs_postgres()
    }

    pub(crate) fn needs_postgres(self) -> bool {
        let ours = matches!(
            self,
            Self::AutoMutexPostgres | Self::AutoMutexPostgresAwaited | Self::AutoMutexPostgresLocal
        );
        ours || self.connects_each()
    }

    /// Whether each lock needs a connection of its own.
    pub(crate) fn connects_each(self) -> bool {
        matches!(
            self,
            Self::PgAdvisoryLock | Self::SelectForUpdate | Self::TwoSelects
        )
    }

    /// Whether this is a library of another language.
    pub(crate) fn is_external(self) -> bool {
        external::program(self).is_some()
    }

    /// If this contender cannot be measured on this machine, returns the reason.
    pub(crate) fn missing(self) -> Option<String> {
        if (self.is_peer() || self.needs_postgres()) && cfg!(not(feature = "peers")) {
            return Some("built without the feature `peers`".to_owned());
        }
        #[cfg(feature = "peers")]
        if self.needs_postgres() {
            return crate::server::postgres::missing();
        }
        external::missing(self)
    }

    pub(crate) fn threads(self) -> usize {
        match self {
            Self::AutoMutexThreads | Self::RslockThreads => 2,
            _ => 1,
        }
    }

    /// Returns how many units of a name may be held at a time.
    pub(crate) fn capacity(self) -> u64 {
        match self {
            Self::AutoMutexSemaphore => PERMITS.into(),
            Self::AutoMutexRwLock => READERS,
            _ => 1,
        }
    }

    /// Commands that this library sends directly, besides scripts and the commands of the connection. The server's
    /// statistics also count commands that scripts call. So a command must not be listed for a library whose scripts
    /// call it.
    pub(crate) fn plain_commands(self) -> &'static [&'static str] {
        match self {
            Self::Rslock
            | Self::RslockThreads
            | Self::Distkit
            | Self::Raw
            | Self::NodeRedisSemaphore
            | Self::PythonRedis => &["set"],
            Self::PythonRedisLock => &["set", "blpop"],
            _ => &[],
        }
    }
}
