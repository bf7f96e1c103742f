//! [`Rules`]: how large a run is, how long everything lasts, and what may happen.

use core::ops::Deref;
use core::time::Duration;

use auto_mutex_protocol::client::{ClientTimes, Patience, Tenure, Want};
use auto_mutex_protocol::{LIMITS, Limits, Share, SharedStr};

/// All durations are multiples of it.
pub const TICK: Duration = Duration::from_secs(1);
/// How much a slow clock loses in a tick: a little less than clients allow for in a lease of one tick.
pub const SLIP: Duration = Duration::from_millis(11);

/// How the clients' clocks run compared with the store's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clocks {
    /// All clocks run at the same rate, except for their slips.
    Together,
    /// The clients' clocks stand still, so clients consider every grant valid indefinitely.
    Stopped,
    /// No time passes: no lease ends, and no timer runs again.
    Frozen,
}

/// How often each mishap may happen in a run. A pause is none: every step may take any time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Mishaps {
    /// A connection breaks. Requests in flight may still reach the store, late and in any order; no reply comes back.
    pub breaks: u8,
    /// A message of the store to a client is lost.
    pub losses: u8,
    /// A message arrives twice.
    pub copies: u8,
    /// A client dies.
    pub crashes: u8,
    /// The store is restarted without its data.
    pub restarts: u8,
    /// A replica takes over from the store, with the state that it copied at some earlier time.
    pub failovers: u8,
    /// The store's clock is stepped back.
    pub steps_back: u8,
    /// A client considers the store closed while it is open, or for longer than it is closed.
    pub doubts: u8,
    /// An operator takes the lock away from whoever holds it.
    pub forces: u8,
    /// An operator ends the hold that it has seen some time ago.
    pub kicks: u8,
    /// A call leaves its hold to another client.
    pub exports: u8,
    /// A waiter is notified, if there is one.
    pub signals: u8,
    /// A holder begins its `expire` again.
    pub renewals: u8,
    /// A client takes no new calls, and those that wait fail.
    pub drains: u8,
    /// A client ends, and has time to release what it holds.
    pub closes: u8,
    /// A client stands still until after its timer, and knows it.
    pub suspensions: u8,
    /// The store refuses a request with an error.
    pub errors: u8,
    /// A client asks the store something about the name, or deletes it.
    pub queries: u8,
    /// A stranger hears a message. It repeats and changes what it has heard as often as it likes.
    pub overhears: u8,
    /// The store reports more about its server while there is no connection.
    pub reports: u8,
    /// A call looks at its grant only after that has ended.
    pub misses: u8,
}

/// The rules of a run. Durations are in ticks.
#[derive(Clone, Debug)]
pub struct Rules {
    /// How many clients there are.
    pub clients: u8,
    /// What the calls of each client ask for; the last one also for all further clients.
    pub shares: Vec<Share>,
    /// How long the calls of each client wait, and how; the last one also for all further clients.
    pub patience: Vec<Patience>,
    /// How long a call tolerates a store that doesn't answer; zero is without an end.
    pub store_timeout: u8,
    /// Whether callers wait for the answers to their renewals and releases.
    pub asks: bool,
    /// Whether all calls of a client have the same owner.
    pub owned: bool,
    /// For how long the store keeps the lock even if the call ends earlier.
    pub at_least: u8,
    /// How long each call of a client may hold, beginning with the last one; zero is without an end. The last time is
    /// also that of all earlier calls.
    pub expire: Vec<u8>,
    /// How often the calls of each client ask, and how many wait or hold at a time; the last one also for all further
    /// clients.
    pub calls: Vec<(u8, u8)>,
    /// How many clients keep the lock after a call.
    pub keepers: u8,
    /// How long the lease of a client lasts, and a place in the queue.
    pub lease: u8,
    /// How long a grant by message lasts, and the lease of a lock that is only kept.
    pub claim: u8,
    /// How long a tombstone refuses its ticket.
    pub tomb: u8,
    /// How long a request may be in flight after its connection broke; shorter than `tomb`.
    pub late: u8,
    /// How long the store grants nothing after a restart without data, or a failover.
    pub closed: u8,
    /// For how long too much a client considers the store closed, if it is mistaken.
    pub doubt: u8,
    /// How often the clock of each client loses a [`SLIP`].
    pub slips: u8,
    /// How the clocks run.
    pub clocks: Clocks,
    /// What may happen, and how often.
    pub mishaps: Mishaps,
    /// Whether calls may give up.
    pub cancels: bool,
    /// How many of the first waiters are asked to touch more often.
    pub near: usize,
    /// How many calls can enter with one token of the store.
    pub tokens: u64,
    /// Whether clocks and durations are such that exclusion must hold. Otherwise it is not checked.
    pub assumed: bool,
    /// In each state, also check that every waiter is served if nothing more happens.
    pub service: bool,
    /// How many messages to a client may be in flight: of more, the oldest is lost.
    pub messages: u8,
    /// How many requests of a client may be unanswered. At this limit, nothing happens that sends more.
    pub pipeline: u8,
    /// Replies arrive as soon as the store has executed the request.
    pub prompt: bool,
    /// The store's clock may stand still between two grants.
    pub stalls: bool,
    /// The program was told to skip its locks.
    pub skips: bool,
    /// With how many waiting calls a further one is refused; zero is without a limit.
    pub max_waiters: u32,
    /// Clients are not connected when they begin.
    pub offline: bool,
    /// The store frees memory, and drops what is over.
    pub sweeps: bool,
}

impl Rules {
    /// With the shortest durations, a mutex, and clients that call once.
    pub fn new(clients: u8) -> Self {
        Self {
            clients,
            shares: vec![Share::MUTEX],
            patience: vec![Patience::Queue(None)],
            store_timeout: 0,
            asks: false,
            owned: false,
            at_least: 0,
            expire: vec![0],
            calls: vec![(1, 1)],
            keepers: 0,
            lease: 2,
            claim: 1,
            tomb: 2,
            late: 1,
            closed: 2,
            doubt: 1,
            slips: 0,
            clocks: Clocks::Together,
            mishaps: Mishaps::default(),
            cancels: false,
            near: 3,
            tokens: 2,
            assumed: true,
            service: false,
            messages: 1,
            pipeline: 2,
            prompt: false,
            stalls: false,
            skips: false,
            max_waiters: 0,
            offline: false,
            sweeps: false,
        }
    }

    /// Whether all clients may do the same.
    pub fn is_symmetric(&self) -> bool {
        self.shares.len() + self.patience.len() + self.calls.len() == 3
            && (self.keepers == 0 || self.keepers >= self.clients)
    }

    /// Whether all calls wait in the queue.
    pub fn has_queue_only(&self) -> bool {
        self.patience.iter().all(|patience| patience.queues())
    }

    /// The units that there are. The calls of the first client give the greatest number.
    pub fn capacity(&self) -> u64 {
        u64::from(self.shares[0].capacity)
    }

    /// How often the calls of a client ask, and how many at a time.
    pub fn calls_of(&self, client: u8) -> (u8, u8) {
        of(&self.calls, client)
    }

    /// The protocol's durations.
    fn limits(&self) -> Limits {
        Limits {
            claim: ticks(self.claim),
            near: self.near,
            near_touch: TICK,
            tombstone: ticks(self.tomb),
            claim_within: Duration::ZERO,
            least_left: Duration::ZERO,
            recall: TICK,
            recalls: 1,
            answered: Duration::ZERO,
            // No longer than what the store still needs.
            kept: Duration::ZERO,
            retry: TICK,
            brief: TICK,
            look_again: TICK,
            suspended: TICK,
            tokens_used: self.tokens,
            tell: Duration::ZERO,
            contended: Duration::ZERO,
            pause: Duration::ZERO,
            recalled_twice: Duration::ZERO,
            longest_pause: Duration::ZERO,
            ..LIMITS
        }
    }

    /// A client's durations.
    fn times(&self) -> ClientTimes {
        ClientTimes {
            lease: ticks(self.lease),
            beat: TICK,
            store_timeout: endless(self.store_timeout).unwrap_or(Duration::MAX),
            handoff: (1, Duration::MAX),
            skips: self.skips,
        }
    }

    /// What a call of a client wants that is followed by so many more.
    pub fn want(&self, client: u8, more: u8) -> Want {
        let (share, patience) = (of(&self.shares, client), of(&self.patience, client));
        let mut want = Want::new(share, Tenure::default(), patience, SharedStr::EMPTY);
        want.owner = self.owned.then(|| "the same".into());
        // Until it is asked to release the lock.
        want.tenure.retain = (client < self.keepers).then_some(Duration::MAX);
        want.tenure.at_least = Some(ticks(self.at_least));
        want.tenure.expire = endless(of(&self.expire, more));
        want.max_waiters = (self.max_waiters > 0).then_some(self.max_waiters);
        want
    }

    /// Beyond this, how long ago something happened makes no difference.
    fn memory(&self) -> Duration {
        ticks(self.lease.max(self.claim + 1))
    }
}

/// A run: its rules, and what follows from them.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Its rules.
    pub rules: Rules,
    /// The protocol's durations.
    pub limits: Limits,
    /// A client's durations.
    pub times: ClientTimes,
    /// Beyond this, how long ago something happened makes no difference.
    pub memory: Duration,
}

impl Setup {
    /// With these rules.
    pub fn new(rules: Rules) -> Self {
        Self {
            limits: rules.limits(),
            times: rules.times(),
            memory: rules.memory(),
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

/// What is said about one of several, of which the last holds for all further ones.
fn of<T: Copy>(said: &[T], index: u8) -> T {
    let said = said.get(usize::from(index)).or(said.last());
    *said.expect("something about each")
}

/// So many ticks; zero is without an end.
fn endless(ticks: u8) -> Option<Duration> {
    (ticks > 0).then(|| self::ticks(ticks))
}

/// So many ticks.
pub fn ticks(ticks: u8) -> Duration {
    TICK * u32::from(ticks)
}

/// In microseconds.
pub const fn micros(time: Duration) -> u64 {
    time.as_micros() as u64
}
