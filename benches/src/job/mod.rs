//! What a worker process is told to do. What it answers is with the workers.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::peer::Contender;

/// The work of one process.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "do")]
pub(crate) enum Job {
    /// Take locks and give them back, until time is over.
    Turns(Turns),
    /// Hold locks, and wait for nothing else.
    Hold(Names),
    /// Wait for locks that somebody else holds.
    Wait(Names),
    /// Use a lock of its own with each of many clients, also after the server was away.
    Herd(Herd),
    /// Call annotated functions and plain ones.
    Calls {
        /// How long each kind of call is measured.
        milliseconds: u64,
    },
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Turns {
    pub(crate) contender: Contender,
    pub(crate) url: String,
    pub(crate) tasks: usize,
    /// All tasks on one key, or each on its own.
    pub(crate) one_key: bool,
    /// How long a task stays inside.
    pub(crate) body_us: u64,
    /// Where the turns are written to; see [`record`](crate::measure::record).
    pub(crate) out: PathBuf,
}

/// `count` locks on `names` names.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Names {
    pub(crate) contender: Contender,
    pub(crate) url: String,
    pub(crate) lease_s: u64,
    pub(crate) count: usize,
    pub(crate) names: usize,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Herd {
    pub(crate) url: String,
    pub(crate) clients: usize,
}

impl Names {
    /// The name of the lock with this number.
    pub(crate) fn name(&self, number: usize) -> String {
        format!("bench:{}", number % self.names.max(1))
    }
}
