//! The protocol's constants, each explained in `docs/protocol.md`: one definition for every store and for the clients.

use std::time::Duration;

/// How long a grant by message lasts without a claim by its member. The operation of another member does not grant the
/// whole capacity to a waiter that was silent for longer.
pub const CLAIM_MS: u64 = 2_000;
/// How many waiters at the head of the queue touch often.
pub const NEAR: usize = 3;
/// The longest pause between two touches of one of the first waiters.
pub const NEAR_MS: u64 = 1_100;
/// An operation grants to at most this many waiters, and ends at most this many leases, and this many places, that are over.
/// The next operation on the name continues. So no operation takes long, however many tickets a name has.
pub const BATCH: usize = 50;
/// How long a tombstone refuses its ticket.
pub const TOMBSTONE_MS: u64 = 30_000;
/// The longest lease that a client may ask for.
pub const LONGEST_LEASE: Duration = Duration::from_secs(30);
/// How long the fencing token of an idle name is kept.
pub const KEPT_MS: u64 = 600_000;
/// How long signals are kept, and the note of a name's last kick.
pub const SIGNALS_KEPT_MS: u64 = 86_400_000;
/// The store's tokens (microseconds) are below this number: scripts compute with doubles, which represent all integers below
/// it exactly. Fencing tokens are [`TOKENS_OF_A_GRANT`] times greater.
pub const TOKENS_END: u64 = 1 << 53;
/// How many fencing tokens each grant has: the process uses one for each handoff.
pub const TOKENS_OF_A_GRANT: u64 = 1024;
