//! [`Limits`]: the protocol's durations and counts, the same for every store and client. `docs/protocol.md` explains
//! them.

use core::time::Duration;

use crate::quorum;

/// The store's tokens (microseconds) stay below this number, because scripts compute with doubles, which are exact up
/// to here. Fencing tokens are [`TOKENS_OF_A_GRANT`] times greater.
pub const TOKENS_END: u64 = 1 << 53;
/// How many fencing tokens each grant has, for the handoffs of its process.
pub const TOKENS_OF_A_GRANT: u64 = 1024;

/// The durations and counts of the protocol. All durations are whole milliseconds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Limits {
    /// How long a grant by message lasts until its member claims it. Other members' operations do not grant the whole
    /// capacity to a waiter that was silent for longer. Also the longest lease of a lock that is kept between calls.
    pub claim: Duration,
    /// How many waiters at the head of the queue touch often.
    pub near: usize,
    /// The longest pause between two touches of one of the first waiters.
    pub near_touch: Duration,
    /// The most grants, ended leases and ended places that one operation handles; the next operation on the name
    /// continues. This bounds the time of an operation, however many tickets a name has.
    pub batch: usize,
    /// How long a tombstone refuses its ticket.
    pub tombstone: Duration,
    /// The longest lease that a client may ask for.
    pub longest_lease: Duration,
    /// How long the fencing token of an idle name is kept.
    pub kept: Duration,
    /// How long signals and the record of a name's last kick are kept.
    pub signals_kept: Duration,

    /// How long a client waits before it claims a grant that came as a message. Most bodies end sooner, and then their
    /// release suffices.
    pub claim_within: Duration,
    /// A call takes over the lease of an earlier one only if more than this is left of it.
    pub least_left: Duration,
    /// How long a client waits for another one that was asked to release a lock that it keeps.
    pub recall: Duration,
    /// How often a call that does not wait asks for such a lock: the pauses double from 1 ms to 64 ms.
    pub recalls: u32,
    /// How long a client waits after an error before it asks again.
    pub retry: Duration,
    /// The same for a release that found foreign data.
    pub retry_foreign: Duration,
    /// How long a call that does not wait gets for an answer, and the extra time of every call after a suspend.
    pub brief: Duration,
    /// How long requests may stay unanswered after a store has begun to grant again.
    pub answered: Duration,
    /// How soon to check again a waiter whose `block` is over while an answer of the store is missing.
    pub look_again: Duration,
    /// If a timer is this late, the process was suspended.
    pub suspended: Duration,
    /// Two suspends within this time give extra time only once.
    pub suspended_again: Duration,
    /// How long a signal is sent again. Shorter than `tombstone`, for which the store remembers that it was executed.
    pub signalled_within: Duration,

    /// How many fencing tokens of a grant are used: at most [`TOKENS_OF_A_GRANT`].
    pub tokens_used: u64,
    /// How soon the store learns that a call is inside, or that the lock is kept. Calls in quick succession tell
    /// nothing.
    pub tell: Duration,
    /// For how long a name is not kept after another client held it or asked for it.
    pub contended: Duration,
    /// For how long a name is not kept after two recalls within `recalled_twice`. Doubles up to `longest_pause`.
    pub pause: Duration,
    /// See `pause`.
    pub recalled_twice: Duration,
    /// See `pause`.
    pub longest_pause: Duration,

    /// How long a pass of the search for deadlocks lasts without an answer. Then its waits have twice as long, up to
    /// `slowest_pass`, because messages may be slow: a client that asks for them gets them a second late.
    pub search_pass: Duration,
    /// See `search_pass`.
    pub slowest_pass: Duration,
    /// Searches start at least this far apart, so that one search covers all waits that are due by then.
    pub between_searches: Duration,
    /// How many incomplete passes in a row count for nothing. Then a search goes on without the missing answers.
    pub dropped_passes: u32,
    /// When to search again if answers were missing, or another client has to end the deadlock.
    pub search_again: Duration,
    /// How often a search is repeated that soon.
    pub searched_again: u32,
    /// The longest pause between two searches for one wait, unless the first is longer.
    pub longest_search_pause: Duration,

    /// The durations and counts of a quorum's rounds.
    pub quorum: quorum::Limits,

    /// How long an aborting process waits until its last line is logged. Its body's time ends this much earlier.
    pub last_words: Duration,
    /// The shortest time that a body gets to end before its process is aborted.
    pub shortest_stop: Duration,
    /// A process is aborted this part of the lease before its validity ends.
    pub abort_part: u32,
    /// How long a seat pauses after an error before it stands again. Doubles up to `longest_stand_again`.
    pub stand_again: Duration,
    /// See `stand_again`.
    pub longest_stand_again: Duration,
    /// How soon whoever watches a seat looks again after a signal that reported no change.
    pub look_who_leads: Duration,
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

    claim_within: Duration::from_millis(20),
    least_left: Duration::from_millis(50),
    recall: Duration::from_millis(10),
    // In 2.1 s: longer than the lease of a kept lock.
    recalls: 37,
    retry: Duration::from_millis(200),
    retry_foreign: Duration::from_secs(1),
    brief: Duration::from_secs(1),
    answered: Duration::from_millis(200),
    look_again: Duration::from_millis(20),
    suspended: Duration::from_millis(100),
    suspended_again: Duration::from_secs(2),
    signalled_within: Duration::from_secs(25),

    tokens_used: TOKENS_OF_A_GRANT,
    tell: Duration::from_millis(20),
    contended: Duration::from_millis(100),
    pause: Duration::from_secs(30),
    recalled_twice: Duration::from_secs(1),
    longest_pause: Duration::from_secs(600),

    search_pass: Duration::from_millis(400),
    slowest_pass: Duration::from_millis(3_200),
    between_searches: Duration::from_millis(500),
    dropped_passes: 3,
    search_again: Duration::from_millis(250),
    searched_again: 8,
    longest_search_pause: Duration::from_secs(60),

    quorum: quorum::LIMITS,

    last_words: Duration::from_millis(20),
    shortest_stop: Duration::from_millis(100),
    abort_part: 20,
    stand_again: Duration::from_millis(250),
    longest_stand_again: Duration::from_secs(4),
    look_who_leads: Duration::from_millis(100),
};
