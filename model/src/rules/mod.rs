//! What a run allows: how many there are, how long things last, what may go wrong, and which rule is left out.

mod faults;
mod safeguard;

pub use self::faults::{Clocks, Faults};
pub use self::safeguard::Safeguard;

/// The rules of one run. Durations are ticks.
#[derive(Clone, Debug)]
pub struct Rules {
    /// How many members there are.
    pub members: u8,
    /// How many of them may hold at a time: 1 for a mutex.
    pub capacity: u8,
    /// How often each member asks for the lock.
    pub calls: u8,
    /// How long the store keeps a holder that it does not hear of.
    pub lease: u8,
    /// How long it keeps one that was granted by somebody else's operation and has not claimed.
    pub claim: u8,
    /// How long it keeps a waiter.
    pub place: u8,
    /// How long it refuses a ticket after a release with a tombstone.
    pub tomb: u8,
    /// How long a request may be on its way after its connection broke; shorter than `tomb`.
    pub late: u8,
    /// By how much a member shortens what it is granted.
    pub allowance: u8,
    /// For how long a store grants nothing after it came back without its data, or from a replica.
    pub closed: u8,
    /// For how much longer than it is a member takes the store for closed, where it is told so.
    pub doubt: u8,
    /// How often the clock of each member may lose a tick to the store's; 1 is once in any lease, as far as one lease goes.
    pub slips: u8,
    /// How the clocks go.
    pub clocks: Clocks,
    /// What may go wrong, and how often.
    pub faults: Faults,
    /// Whether members may give up waiting.
    pub cancels: bool,
    /// Whether clocks, guard and leases are what exclusion rests on. If not, it is not asked for.
    pub assumed: bool,
    /// Whether there is a register that members write to, with their fencing tokens.
    pub register: bool,
    /// Whether each state is also asked whether everybody is served from there.
    pub service: bool,
    /// How many messages to a member may be on their way: with more, the oldest is lost.
    pub messages: u8,
    /// How many requests about a ticket may be unanswered on one connection: with more, nothing is asked.
    pub pipeline: u8,
    /// Whether a reply is there as soon as the store has executed the request; messages take any time all the same.
    pub prompt: bool,
    /// Whether worlds that differ only in which member is which are taken for one.
    pub symmetric: bool,
    /// The rule that is left out.
    pub without: Option<Safeguard>,
}

impl Rules {
    /// A mutex and `members`, each of which locks once; nothing goes wrong, but everything may take any time.
    #[must_use]
    pub fn new(members: u8) -> Self {
        Self {
            members,
            capacity: 1,
            calls: 1,
            lease: 3,
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

    /// Whether `safeguard` is in force.
    #[must_use]
    pub fn keeps(&self, safeguard: Safeguard) -> bool {
        self.without != Some(safeguard)
    }

    /// How long a grant of `lease` may be believed that was asked for `age` ticks ago.
    #[must_use]
    pub fn validity(&self, lease: u8, age: u8) -> u8 {
        let allowance = if self.keeps(Safeguard::Allowance) {
            self.allowance
        } else {
            0
        };
        lease.saturating_sub(allowance).saturating_sub(age)
    }

    /// The validity of a provisional grant by message.
    #[must_use]
    pub fn claim_validity(&self, age: u8) -> u8 {
        self.validity(self.claim.min(self.lease), age)
    }
}
