//! [`Limits`]: the durations and counts of the rounds.

use core::time::Duration;

/// The durations and counts of a quorum: a part of [`Limits`](crate::Limits).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Limits {
    /// How long a round waits for slow nodes after a refusal: three times its duration so far, within this range.
    pub grace: (Duration, Duration),
    /// How long a query waits for slow nodes after the answer of a majority.
    pub query_grace: Duration,
    /// How far the written token is ahead of the granted ones, in microseconds. A node that grants late is raised to
    /// it, and then all nodes give the same next token until their clocks reach it.
    pub ahead: u64,
    /// Added to `ahead` at random, so that two members rarely write the same token.
    pub spread: u64,

    /// The longest pause after a first collision, or twice the duration of a round if that is longer.
    pub first_pause: Duration,
    /// How often that doubles.
    pub doublings: u32,
    /// The longest pause after a collision.
    pub longest_pause: Duration,
    /// For how long after a collision the same request makes further rounds.
    pub persistence: Duration,
    /// The most rounds of an attempt that does not wait.
    pub tries: u32,
    /// How long a minority of the nodes may still have to hear of the release that ended another use of the name.
    pub former_use: Duration,

    /// Shorter than a place in a wake queue: a waiter tries again after this pause even if no release has woken it.
    pub look: (Duration, Duration),
    /// How long a place in a wake queue lasts at least. Longer than `look`.
    pub place: Duration,
    /// How long after its lease or place a ticket without requests is forgotten. Longer than `look`.
    pub silent: Duration,
    /// A member that asks so soon after its own release lets the woken waiters go first.
    pub soon: Duration,
    /// How long it waits at least.
    pub head_start: Duration,
    /// For how long, and for how many names, a member remembers its releases.
    pub remembered: (Duration, usize),

    /// How long other nodes have to report a notification that was used.
    pub late_notification: Duration,
    /// The delay before refused releases are sent again, and how many are sent together.
    pub retry: (Duration, usize),
    /// The most pending releases of a node.
    pub most_pending: usize,
    /// At this many tickets, those that the member will never release are looked for.
    pub sweep: usize,
}

/// The limits of every quorum.
pub(crate) const LIMITS: Limits = Limits {
    grace: (Duration::from_millis(20), Duration::from_millis(500)),
    query_grace: Duration::from_millis(100),
    ahead: 10_000,
    spread: 1_000,

    first_pause: Duration::from_millis(4),
    doublings: 8,
    longest_pause: Duration::from_secs(1),
    persistence: Duration::from_millis(200),
    tries: 6,
    former_use: Duration::from_secs(1),

    look: (Duration::from_millis(750), Duration::from_millis(1250)),
    place: Duration::from_secs(4),
    silent: Duration::from_secs(2),
    soon: Duration::from_millis(20),
    head_start: Duration::from_millis(2),
    remembered: (Duration::from_secs(1), 1024),

    late_notification: Duration::from_millis(250),
    retry: (Duration::from_millis(200), 100),
    most_pending: 10_000,
    sweep: 64,
};
