//! [`Rules`]: how large a run is, and what may happen in it.

use core::ops::Deref;
use core::time::Duration;

use auto_mutex_protocol::{Instant, LIMITS, Limits};

/// Every lease, and every place in a queue. None ends by itself.
pub const LEASE: Duration = Duration::from_secs(20);
/// How long a lock is kept after a release, if it is.
pub const PARK: Duration = Duration::from_secs(1);
/// How long a wait rests between two searches.
const PAUSE: Duration = Duration::from_secs(1);
/// When a search happens.
pub const NOW: Instant = Instant::from_nanos(1_000_000_000);
/// When the next search may begin, and a pass may end.
pub const LATER: Instant = Instant::from_nanos(2_000_000_000);

/// The rules of a run. Tasks, members and names are numbers.
#[derive(Clone, Debug)]
pub struct Rules {
    /// The member of each task. The tasks of the first member search.
    pub members: &'static [u8],
    /// The capacity of each name. A task asks for one unit, or, with `writers`, also for all.
    pub capacities: &'static [u32],
    /// How many locks a task holds at a time.
    pub depth: usize,
    /// Tasks may ask for the whole capacity.
    pub writers: bool,
    /// A release may hand off the ticket to another task of the member.
    pub handoff: bool,
    /// A task may give up waiting.
    pub cancels: bool,
    /// A task may lose a hold while it waits: the lease ends, or another branch of the task releases the lock.
    pub losses: bool,
    /// A ticket may stay in the store for a time after its release (`at_least`).
    pub parks: bool,
    /// How many members may die.
    pub deaths: u8,
    /// Passes without some answer never count.
    pub patient: bool,
    /// A copy of an answer may arrive in the next pass.
    pub copies: bool,
    /// No task begins to wait during a search.
    pub still: bool,
}

impl Rules {
    /// With mutexes, and nothing that goes wrong.
    pub fn new(members: &'static [u8], capacities: &'static [u32]) -> Self {
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
            patient: false,
            copies: false,
            still: false,
        }
    }

    /// Whether all tasks of a deadlock must choose the same call. With mutexes alone they do: each task that waits is
    /// in at most one cycle. Otherwise a search may choose another call if it does not know some of the holds.
    pub fn one_victim(&self) -> bool {
        self.patient || self.capacities.iter().all(|capacity| *capacity == 1)
    }

    /// The member of a task.
    pub fn member(&self, task: u8) -> u8 {
        self.members[usize::from(task)]
    }

    /// The capacity of a name.
    pub fn capacity(&self, name: u8) -> u32 {
        self.capacities[usize::from(name)]
    }

    /// All names.
    pub fn names(&self) -> impl Iterator<Item = u8> + use<> {
        0..self.capacities.len() as u8
    }

    fn limits(&self) -> Limits {
        Limits {
            claim: LEASE,
            search_pass: Duration::ZERO,
            slowest_pass: Duration::ZERO,
            between_searches: PAUSE,
            dropped_passes: if self.patient { u32::MAX } else { 0 },
            search_again: PAUSE,
            searched_again: 0,
            longest_search_pause: PAUSE,
            ..LIMITS
        }
    }
}

/// A run: its rules, and the durations that follow from them.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Its rules.
    pub rules: Rules,
    /// The protocol's durations.
    pub limits: Limits,
    /// The same for a search that loses no answer.
    pub undisturbed: Limits,
}

impl Setup {
    /// With these rules.
    pub fn new(rules: Rules) -> Self {
        let limits = rules.limits();
        Self {
            undisturbed: Limits {
                dropped_passes: 0,
                ..limits.clone()
            },
            limits,
            rules,
        }
    }
}

impl Deref for Setup {
    type Target = Rules;

    fn deref(&self) -> &Rules {
        &self.rules
    }
}
