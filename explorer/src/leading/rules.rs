//! [`Rules`]: what may happen in a run of seats, and how long everything lasts.

use core::ops::Deref;
use core::time::Duration;

use auto_mutex_protocol::{Share, leading};

use crate::name::rules::{Mishaps, Setup as Network, ticks};

/// What the bodies do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bodies {
    /// They end within `stop_within` after they were told.
    InTime,
    /// They end at any time, or never.
    Any,
}

/// How often each fault may happen in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Faults {
    /// A process is killed.
    pub kills: u8,
    /// A process is suspended, for any time.
    pub suspends: u8,
    /// A process drains.
    pub drains: u8,
    /// The connection of a process breaks, for any time. A request in flight may still arrive, and is not answered.
    pub cuts: u8,
    /// The store is restarted without its data.
    pub restarts: u8,
    /// Somebody breaks the lock.
    pub forces: u8,
}

impl Faults {
    /// Nothing goes wrong.
    pub const NONE: Self = Self {
        kills: 0,
        suspends: 0,
        drains: 0,
        cuts: 0,
        restarts: 0,
        forces: 0,
    };
}

/// The rules of a run. Durations are in ticks.
#[derive(Clone, Debug)]
pub struct Rules {
    /// The number of processes, each with one seat.
    pub seats: u8,
    /// How long the lease of a client lasts.
    pub lease: u8,
    /// How long a body may take to end after it was told.
    pub stop_within: u8,
    /// How long a body may go without reporting progress; 0 for any time.
    pub progress: u8,
    /// An overrun aborts the process so long before the end of the validity; `None` if it is logged.
    pub aborts: Option<u8>,
    /// How long a call tolerates a store that does not answer; 0 for any time.
    pub store_timeout: u8,
    /// What the bodies do.
    pub bodies: Bodies,
    /// Bodies may return by themselves.
    pub returns: bool,
    /// Leaders may resign.
    pub resigns: bool,
    /// Requests of a leader may take any time, so that renewals fail.
    pub slow: bool,
    /// What may happen, and how often.
    pub faults: Faults,
    /// Whether processes and bodies are such that one body runs at a time. Otherwise it is not checked.
    pub assumed: bool,
}

impl Rules {
    /// Renewals may fail, bodies hang, and overruns abort.
    pub fn new(seats: u8) -> Self {
        Self {
            seats,
            lease: 3,
            stop_within: 1,
            progress: 0,
            aborts: Some(1),
            store_timeout: 0,
            bodies: Bodies::Any,
            returns: false,
            resigns: false,
            slow: true,
            faults: Faults::NONE,
            assumed: true,
        }
    }

    fn network(&self) -> Network {
        let faults = self.faults;
        let mishaps = Mishaps {
            breaks: faults.cuts,
            crashes: faults.kills,
            restarts: faults.restarts,
            forces: faults.forces,
            ..Mishaps::default()
        };
        let rules = crate::name::rules::Rules {
            // One for each, so that no two seats are exchanged.
            shares: vec![Share::LEADER; 2],
            lease: self.lease,
            closed: self.lease,
            mishaps,
            ..crate::name::rules::Rules::new(self.seats)
        };
        let mut network = Network::new(rules);
        if self.store_timeout > 0 {
            network.times.store_timeout = ticks(self.store_timeout);
        }
        let limits = &mut network.limits;
        limits.last_words = Duration::ZERO;
        limits.shortest_stop = Duration::ZERO;
        limits.stand_again = ticks(1);
        limits.longest_stand_again = ticks(1);
        limits.abort_part = match self.aborts {
            Some(margin) if margin > 0 => u32::from(self.lease / margin),
            _ => u32::MAX,
        };
        network
    }
}

/// A run: its rules, and what follows from them.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Its rules.
    pub rules: Rules,
    /// The clients and the store.
    pub network: Network,
    /// The durations of the seats.
    pub seat: leading::Rules,
}

impl Setup {
    /// With these rules.
    pub fn new(rules: Rules) -> Self {
        let network = rules.network();
        let options = leading::Options {
            stop_within: Some(ticks(rules.stop_within)),
            progress: (rules.progress > 0).then(|| ticks(rules.progress)),
            aborts: rules.aborts.is_some(),
        };
        let seat = leading::Rules::new(options, network.times.lease, &network.limits);
        Self {
            seat: seat.expect("options that can be had"),
            network,
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
