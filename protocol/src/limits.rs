//! [`Limits`]: the protocol's durations and counts, the same for every store and client. `docs/protocol.md` explains them.

use core::time::Duration;

/// The store's tokens (microseconds) stay below this number, because scripts compute with doubles, which are exact up
/// to here. Fencing tokens are [`TOKENS_OF_A_GRANT`] times greater.
pub const TOKENS_END: u64 = 1 << 53;
/// How many fencing tokens each grant has, for the handoffs of its process.
pub const TOKENS_OF_A_GRANT: u64 = 1024;

/// The durations and counts of the protocol. All durations are whole milliseconds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Limits {
    /// How long a grant by message lasts until its member claims it. Other members' operations do not grant the whole
    /// capacity to a waiter that was silent for longer.
    pub claim: Duration,
    /// How many waiters at the head of the queue touch often.
    pub near: usize,
    /// The longest pause between two touches of one of the first waiters.
    pub near_touch: Duration,
    /// The most grants, ended leases and ended places that one operation handles; the next operation on the name continues.
    /// This bounds the time of an operation, however many tickets a name has.
    pub batch: usize,
    /// How long a tombstone refuses its ticket.
    pub tombstone: Duration,
    /// The longest lease that a client may ask for.
    pub longest_lease: Duration,
    /// How long the fencing token of an idle name is kept.
    pub kept: Duration,
    /// How long signals and the record of a name's last kick are kept.
    pub signals_kept: Duration,
}

/// The limits of every store and client.
pub const LIMITS: Limits = Limits {
    claim: Duration::from_secs(2),
    near: 3,
    near_touch: Duration::from_millis(1_100),
    batch: 50,
    tombstone: Duration::from_secs(30),
    longest_lease: Duration::from_secs(30),
    kept: Duration::from_secs(600),
    signals_kept: Duration::from_secs(86_400),
};
