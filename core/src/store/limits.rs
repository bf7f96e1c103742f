//! The protocol's constants for every store and client. `docs/protocol.md` explains them.

use std::time::Duration;

/// How long a grant by message lasts until its member claims it. Other members' operations do not grant the whole
/// capacity to a waiter that was silent for longer.
pub const CLAIM_MS: u64 = 2_000;
/// How many waiters at the head of the queue touch often.
pub const NEAR: usize = 3;
/// The longest pause between two touches of one of the first waiters.
pub const NEAR_MS: u64 = 1_100;
/// The most grants, ended leases and ended places that one operation handles; the next operation on the name continues.
/// This bounds the time of an operation, however many tickets a name has.
pub const BATCH: usize = 50;
/// How long a tombstone refuses its ticket.
pub const TOMBSTONE_MS: u64 = 30_000;
/// The longest lease that a client may ask for.
pub const LONGEST_LEASE: Duration = Duration::from_secs(30);
/// How long the fencing token of an idle name is kept.
pub const KEPT_MS: u64 = 600_000;
/// How long signals and the record of a name's last kick are kept.
pub const SIGNALS_KEPT_MS: u64 = 86_400_000;
/// The store's tokens (microseconds) stay below this number, because scripts compute with doubles, which are exact up
/// to here. Fencing tokens are [`TOKENS_OF_A_GRANT`] times greater.
pub const TOKENS_END: u64 = 1 << 53;
/// How many fencing tokens each grant has, for the handoffs of its process.
pub const TOKENS_OF_A_GRANT: u64 = 1024;
