//! [`Contender`]: the list of who is measured, and what the report must know of each.

use serde::{Deserialize, Serialize};

use super::{PERMITS, READERS, external};

/// Who is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Contender {
    /// Handles; the guard is dropped; every hand-over goes through Redis.
    AutoMutex,
    /// The same with a runtime of two threads.
    AutoMutexThreads,
    /// Handles, with hand-over inside the process.
    AutoMutexLocal,
    /// The same; the release is waited for.
    AutoMutexLocalAwaited,
    /// Handles; the release is waited for.
    AutoMutexAwaited,
    /// An annotated function.
    AutoMutexAttribute,
    AutoMutexSemaphore,
    AutoMutexRwLock,
    Rslock,
    RslockThreads,
    /// A blocking socket that sends the least that makes a lock.
    Raw,
    NodeRedisSemaphore,
    NodeRedlock,
    PythonRedis,
    PythonRedisLock,
}

impl Contender {
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::AutoMutex => "auto-mutex",
            Self::AutoMutexThreads => "auto-mutex, 2 threads",
            Self::AutoMutexLocal => "auto-mutex, local hand-over",
            Self::AutoMutexLocalAwaited => "auto-mutex, local hand-over, unlock awaited",
            Self::AutoMutexAwaited => "auto-mutex, unlock awaited",
            Self::AutoMutexAttribute => "#[auto_mutex]",
            Self::AutoMutexSemaphore => "auto-mutex Semaphore",
            Self::AutoMutexRwLock => "auto-mutex RwLock",
            Self::Rslock => "rslock",
            Self::RslockThreads => "rslock, 2 threads",
            Self::Raw => "raw limit",
            Self::NodeRedisSemaphore => "redis-semaphore (Node)",
            Self::NodeRedlock => "redlock (Node)",
            Self::PythonRedis => "redis-py",
            Self::PythonRedisLock => "python-redis-lock",
        }
    }

    pub(crate) fn is_ours(self) -> bool {
        !matches!(self, Self::Rslock | Self::RslockThreads | Self::Raw) && !self.is_external()
    }

    /// Libraries of other languages.
    pub(crate) fn is_external(self) -> bool {
        external::program(self).is_some()
    }

    /// Why it cannot be measured here.
    pub(crate) fn missing(self) -> Option<String> {
        external::missing(self)
    }

    pub(crate) fn threads(self) -> usize {
        match self {
            Self::AutoMutexThreads | Self::RslockThreads => 2,
            _ => 1,
        }
    }

    /// How many units of a name may be held at a time.
    pub(crate) fn capacity(self) -> u64 {
        match self {
            Self::AutoMutexSemaphore => PERMITS.into(),
            Self::AutoMutexRwLock => READERS,
            _ => 1,
        }
    }

    /// Commands that this library sends by themselves, besides scripts and those of the connection. The server's
    /// statistics count a command the same way when a script calls it, so a command must not be listed for a
    /// library whose scripts call it too.
    pub(crate) fn plain_commands(self) -> &'static [&'static str] {
        match self {
            Self::Rslock
            | Self::RslockThreads
            | Self::Raw
            | Self::NodeRedisSemaphore
            | Self::PythonRedis => &["set"],
            Self::PythonRedisLock => &["set", "blpop"],
            _ => &[],
        }
    }
}
