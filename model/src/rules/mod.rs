//! The rules of a run: its size, its durations, the possible faults, and the rule that it leaves out.

mod faults;
mod safeguard;

pub use self::faults::{Clocks, Faults};
pub use self::safeguard::Safeguard;

/// The rules of one run. Durations are ticks.
#[derive(Clone, Debug)]
pub struct Rules {
    /// The number of members.
    pub members: u8,
    /// How many members may hold the lock at a time: 1 for a mutex.
    pub capacity: u8,
    /// How often each member asks for the lock.
    pub calls: u8,
    /// How many waiters an operation grants to or passes over. The next operation continues.
    pub batch: u8,
    /// How long the store keeps a holder that does not renew its lease.
    pub lease: u8,
    /// How long the store keeps the holder of a lock that its member keeps between calls; 0 if no lock is kept.
    pub retain: u8,
    /// How many members keep locks; each of the others locks once.
    pub keepers: u8,
    /// How many calls may enter with one token of the store.
    pub numbers: u8,
    /// How long the store keeps a provisional holder that has not claimed its grant.
    pub claim: u8,
    /// How long the store keeps a waiter that does not touch its place.
    pub place: u8,
    /// How long the store refuses a ticket after a release with a tombstone.
    pub tomb: u8,
    /// How long a request may be in flight after its connection broke; shorter than `tomb`.
    pub late: u8,
    /// By how much a member shortens the validity of a grant.
    pub allowance: u8,
    /// How long a store grants nothing after a restart without data or a failover.
    pub closed: u8,
    /// With the fault `doubts`: for how many ticks too long a member considers the store closed.
    pub doubt: u8,
    /// How often each member's clock may fall a tick behind the store's clock. 1 stands for clocks that lose at most
    /// one tick per lease.
    pub slips: u8,
    /// How the clocks run.
    pub clocks: Clocks,
    /// The faults that may happen, and how often.
    pub faults: Faults,
    /// Members may give up waiting.
    pub cancels: bool,
    /// Whether clocks, restart guard and leases are such that exclusion must hold. Otherwise it is not checked.
    pub assumed: bool,
    /// Whether there is a register to which members write with their fencing tokens.
    pub register: bool,
    /// In each state, also check that every waiter is served if no more faults happen.
    pub service: bool,
    /// How many messages to a member may be in flight: with more, the oldest is lost.
    pub messages: u8,
    /// How many requests about a ticket may be unanswered on one connection. At this limit, the member sends no more.
    pub pipeline: u8,
    /// Replies arrive as soon as the store has executed the request. Messages may still take any time.
    pub prompt: bool,
    /// Worlds that differ only by a permutation of the members count as one.
    pub symmetric: bool,
    /// The rule of the protocol that this run leaves out.
    pub without: Option<Safeguard>,
}

impl Rules {
    /// The rules of a run with a mutex, and with `members` members that lock once each. There are no faults, but every
    /// step may take any time.
    #[must_use]
    pub fn new(members: u8) -> Self {
        Self {
            members,
            capacity: 1,
            calls: 1,
            batch: u8::MAX,
            lease: 3,
            retain: 0,
            keepers: members,
            numbers: 2,
            claim: 2,
            place: 3,
            tomb: 2,
            late: 1,
            allowance: 1,
            closed: 3,
            doubt: 1,
            slips: 0,
            clocks: Clocks::Together,
            faults: Faults::default(),
            cancels: false,
            assumed: true,
            register: false,
            service: false,
            messages: 1,
            pipeline: 2,
            prompt: false,
            symmetric: true,
            without: None,
        }
    }

    /// Returns whether `safeguard` is in force.
    #[must_use]
    pub fn keeps(&self, safeguard: Safeguard) -> bool {
        self.without != Some(safeguard)
    }

    /// Returns for how long a grant of `lease` is valid if its request was sent `age` ticks ago.
    #[must_use]
    pub fn validity(&self, lease: u8, age: u8) -> u8 {
        let allowance = if self.keeps(Safeguard::Allowance) {
            self.allowance
        } else {
            0
        };
        lease.saturating_sub(allowance).saturating_sub(age)
    }

    /// Whether the time of the server may be no later than the last token. While the store knows its last token, this makes
    /// no difference.
    #[must_use]
    pub fn clock_may_stall(&self) -> bool {
        !self.keeps(Safeguard::LastToken) || !self.keeps(Safeguard::TouchToken)
    }

    /// Returns whether a member keeps locks between calls.
    #[must_use]
    pub fn is_keeper(&self, member: u8) -> bool {
        self.retain > 0 && member < self.keepers
    }

    /// Returns the length of the lease that a request asks for.
    #[must_use]
    pub fn hold(&self, short: bool) -> u8 {
        if short { self.retain } else { self.lease }
    }
}
