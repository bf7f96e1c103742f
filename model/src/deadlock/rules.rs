//! The rules of a run: what may happen in it, and which rules of the search it leaves out.

/// A rule of the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Safeguard {
    /// A deadlock counts only if a second round finds it again.
    TwoRounds,
    /// A hold with another token is a different hold.
    Tokens,
    /// Each wait has its own identity, because one ticket of the store serves several waiters in turn.
    WaitIds,
    /// An answer counts only in the round that asked for it.
    RoundNumber,
    /// A ticket that its task no longer holds counts as free: it is parked, handed to another task, or lost.
    HeldNow,
    /// A name or ticket without an answer in this round blocks nothing. The earlier round's answer is not used instead.
    Silence,
    /// A cycle counts only if the units that other holders may release are too few.
    OtherUnits,
    /// An earlier waiter in the queue counts only if its member confirms that it still waits.
    WaiterAsked,
    /// The failing call is chosen among all tasks that wait for each other, not only those of the cycle.
    AllEntangled,
    /// A search that lacks an answer is repeated, because it could choose a different call than a complete one.
    AllAnswers,
}

impl Safeguard {
    /// All rules.
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
    /// The member of each task, by index. The first task is the one that searches.
    pub members: &'static [u8],
    /// The capacity of each name. A task asks for one unit, or, with `writers`, also for all.
    pub capacities: &'static [u8],
    /// The maximum number of locks that a task holds at a time.
    pub depth: usize,
    /// Tasks may ask for the whole capacity.
    pub writers: bool,
    /// A release may hand the ticket to another task of the member.
    pub handoff: bool,
    /// A task may give up waiting and continue.
    pub cancels: bool,
    /// A task may lose a hold while it waits: the lease ends, or another branch of the task releases the lock.
    pub losses: bool,
    /// A ticket may stay in the store for a time after its release (`at_least`).
    pub parks: bool,
    /// The maximum number of members that die.
    pub deaths: u8,
    /// Every task of a deadlock must choose the same call.
    pub one_victim: bool,
    /// A copy of an answer may arrive in the next round.
    pub copies: bool,
    /// The rules of the search that this run leaves out.
    pub without: &'static [Safeguard],
}

impl Rules {
    /// Returns the rules of a run with mutexes in which nothing goes wrong. `members` has the member of each task.
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

    /// Returns whether `safeguard` is in force.
    #[must_use]
    pub fn keeps(&self, safeguard: Safeguard) -> bool {
        !self.without.contains(&safeguard)
    }

    /// Whether the ages of holds matter. With mutexes alone they do not: each waiting task is in at most one cycle, so
    /// all tasks of a deadlock choose from the same holds.
    pub(super) fn ages(&self) -> bool {
        self.capacities.iter().any(|capacity| *capacity > 1)
    }

    pub(super) fn member(&self, task: usize) -> u8 {
        self.members[task]
    }
}
