//! The protocol's constants, each explained in `docs/protocol.md`: one definition for every store and for the clients.

/// How long a grant lasts that its member has not claimed. A waiter that was silent for longer than this is not granted
/// the whole capacity.
pub(crate) const CLAIM_MS: u64 = 2_000;
/// How many waiters count as the first.
pub(crate) const NEAR: usize = 3;
/// The longest pause between two touches of one of the first waiters.
pub(crate) const NEAR_MS: u64 = 1_100;
/// How long a tombstone refuses its ticket.
pub(crate) const TOMBSTONE_MS: u64 = 30_000;
/// The longest lease that a client may ask for.
pub(crate) const LONGEST_LEASE_MS: u64 = 30_000;
/// How long the fencing token of an idle name is kept.
pub(crate) const KEPT_MS: u64 = 600_000;
/// How long signals are kept.
pub(crate) const SIGNALS_KEPT_MS: u64 = 86_400_000;
/// Fencing times are below this: doubles, as scripts have them, count exactly up to here.
pub(crate) const TOKENS_END: u64 = 1 << 53;
