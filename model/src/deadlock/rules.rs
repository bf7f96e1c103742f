//! What a run allows, and which rules of the search it leaves out.

/// A rule of the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Safeguard {
    /// A deadlock counts only if a second round finds it again.
    TwoRounds,
    /// A hold with another token is another hold.
    Tokens,
    /// Each wait has its own identity: the ticket of the store serves one waiter after another.
    WaitIds,
    /// An answer counts only in the round that asked for it.
    RoundNumber,
    /// A ticket that its task does not hold any more is free: it is parked, handed to another task, or lost.
    HeldNow,
    /// A member that does not answer holds up nobody.
    Silence,
    /// A cycle counts only if what the other holders may give back is too little.
    OtherUnits,
    /// A waiter before another one counts only if its member says that it still waits.
    WaiterAsked,
    /// The call that fails is chosen among all that wait for each other, not only among those of the cycle.
    AllEntangled,
    /// A search that lacks an answer is repeated: without it, another call may be chosen.
    AllAnswers,
}

impl Safeguard {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::TwoRounds,
        Self::Tokens,
        Self::WaitIds,
        Self::RoundNumber,
        Self::HeldNow,
        Self::Silence,
        Self::OtherUnits,
        Self::WaiterAsked,
        Self::AllEntangled,
        Self::AllAnswers,
    ];
}

/// The rules of one run.
#[derive(Clone, Debug)]
pub struct Rules {
    /// The member of each task. The search begins with the first task.
    pub members: &'static [u8],
    /// The capacity of each name. A task asks for one unit, or for all if `writers`.
    pub capacities: &'static [u8],
    /// How many locks a task takes before it releases one.
    pub depth: usize,
    /// Whether tasks may ask for the whole capacity.
    pub writers: bool,
    /// Whether a release may hand the ticket to another task of the member.
    pub handoff: bool,
    /// Whether a task may give up waiting and continue.
    pub cancels: bool,
    /// Whether a task may lose a hold while it waits: the lease ends, or another of its branches releases.
    pub losses: bool,
    /// Whether a ticket may stay in the store for a time after its release (`at_least`).
    pub parks: bool,
    /// How many members may die.
    pub deaths: u8,
    /// Whether every task of a deadlock must choose the same call.
    pub one_victim: bool,
    /// Whether a copy of an answer may arrive in the next round.
    pub copies: bool,
    /// The rules that are left out.
    pub without: &'static [Safeguard],
}

impl Rules {
    /// One task per member, mutexes; nothing goes wrong.
    #[must_use]
    pub fn new(members: &'static [u8], capacities: &'static [u8]) -> Self {
        Self {
            members,
            capacities,
            depth: 2,
            writers: false,
            handoff: false,
            cancels: false,
            losses: false,
            parks: false,
            deaths: 0,
            one_victim: true,
            copies: false,
            without: &[],
        }
    }

    /// Whether `safeguard` is in force.
    #[must_use]
    pub fn keeps(&self, safeguard: Safeguard) -> bool {
        !self.without.contains(&safeguard)
    }

    /// Whether it matters which hold is younger. With mutexes alone, each task that waits is in one cycle at most, so there
    /// is nothing to choose from that another task does not see.
    pub(super) fn ages(&self) -> bool {
        self.capacities.iter().any(|capacity| *capacity > 1)
    }

    pub(super) fn member(&self, task: usize) -> u8 {
        self.members[task]
    }
}
