//! [`Id`]: what `doctor` may find, by the names that `--ignore` takes and the JSON shows.

use clap::ValueEnum;
use serde::Serialize;

/// The kind of a problem. Ids stay the same between releases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Id {
    ServerUnreachable,
    Scripts,
    Closed,
    Clock,
    ReplicaOffline,
    ReplicaLag,
    Memory,
    InProcessOnly,
    Eviction,
    RestartForgetsLast,
    RestartForgets,
    OldPrimaryGoesOn,
    FailoverUnnoticed,
    Unknown,
    Weakness,
    Pooler,
    Schema,
    Rights,
    LocksLost,
    LoggedTables,
    TableSize,
    OldSnapshot,
    PreparedTransaction,
    ReplicationSlot,
    StandbyFeedback,
    NotificationQueue,
    Listeners,
    KeyWithoutEnd,
    ForeignKey,
    Namespaces,
    Permits,
    OldWaiter,
    Cycle,
}
