//! Limits that every store keeps, whatever it is written in: the scripts of Redis get them from here too.

/// How long a waiter may be silent, and a grant unclaimed.
pub(crate) const CLAIM_MS: u64 = 2_000;
/// How long a tombstone refuses its ticket.
pub(crate) const TOMB_MS: u64 = 30_000;
/// How long the fencing token of an idle name is kept.
pub(crate) const KEPT_MS: u64 = 600_000;
/// How long signals are kept.
pub(crate) const SIGNALS_KEPT_MS: u64 = 86_400_000;
/// How often the first waiters ask again at least.
pub(crate) const NEAR_MS: u64 = 1100;
/// How many waiters count as the first.
pub(crate) const NEAR: usize = 3;
