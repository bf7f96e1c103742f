//! The jobs of worker processes. Their answers are defined in `worker`.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::peer::{Access, Contender};

/// The work of one process.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "do")]
pub(crate) enum Job {
    /// Acquires and releases locks until the end of the time span.
    Turns(Turns),
    /// Holds locks and does nothing else.
    Hold(Names),
    /// Waits for locks that another process holds.
    Wait(Names),
    /// Uses many clients, each with a lock of its own, before and after an outage of the server.
    Herd(Herd),
    /// Connects many clients that use a lock once.
    Fleet(Fleet),
    /// Waits for one lock in many tasks that hold another one.
    Nested(Nested),
    /// Calls annotated and plain functions.
    Calls {
        /// The time for which each kind of call is measured.
        milliseconds: u64,
    },
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Turns {
    pub(crate) contender: Contender,
    pub(crate) url: String,
    pub(crate) tasks: usize,
    /// Whether all tasks use one key, instead of one key each.
    pub(crate) one_key: bool,
    /// How long a task holds the lock.
    pub(crate) body_us: u64,
    /// The file for the turns; see [`record`](crate::measure::record).
    pub(crate) out: PathBuf,
}

/// `count` locks, spread over `names` names.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Names {
    pub(crate) contender: Contender,
    pub(crate) url: String,
    pub(crate) lease_s: u64,
    pub(crate) count: usize,
    pub(crate) names: usize,
    /// The clients that wait for them. Only one client holds.
    pub(crate) clients: usize,
}

/// Clients that connect. Each takes and releases a lock of its own, and then does nothing.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Fleet {
    pub(crate) contender: Contender,
    pub(crate) url: String,
    pub(crate) clients: usize,
    /// How many of them connect at a time.
    pub(crate) at_once: usize,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Herd {
    pub(crate) url: String,
    pub(crate) clients: usize,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Nested {
    pub(crate) url: String,
    pub(crate) clients: usize,
    pub(crate) tasks: usize,
    /// Whether the clients look for deadlocks.
    pub(crate) searches: bool,
}

impl Names {
    /// The name of the lock with this number.
    pub(crate) fn name(&self, number: usize) -> String {
        format!("bench:{}", number % self.names.max(1))
    }

    /// How each of the clients uses its library.
    pub(crate) fn access(&self) -> Access {
        Access {
            contender: self.contender,
            url: self.url.clone(),
            lease: Duration::from_secs(self.lease_s),
            locks: self.count.div_ceil(self.clients.max(1)),
        }
    }
}
