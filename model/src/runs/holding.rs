//! The runs in which every rule is in force, and every property holds.

use crate::rules::{Clocks, Faults, Rules};

/// How long a run takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// Some seconds: part of the tests.
    Small,
    /// Minutes.
    Large,
}

/// A run with every rule in force.
#[derive(Clone, Debug)]
pub struct Run {
    /// What happens in the run.
    pub name: &'static str,
    /// The rules of the run.
    pub rules: Rules,
    /// How long the run takes.
    pub size: Size,
}

impl Run {
    fn small(name: &'static str, rules: Rules) -> Self {
        let size = Size::Small;
        Self { name, rules, size }
    }

    fn large(name: &'static str, rules: Rules) -> Self {
        let size = Size::Large;
        Self { name, rules, size }
    }
}

/// The shortest durations that are possible when all clocks run at the same rate.
pub(super) fn short(members: u8) -> Rules {
    Rules {
        lease: 2,
        claim: 1,
        place: 2,
        allowance: 0,
        closed: 2,
        ..Rules::new(members)
    }
}

/// The shortest durations with which members keep locks between calls, and their leases become shorter for that.
pub(super) fn kept(members: u8) -> Rules {
    Rules {
        retain: 1,
        calls: 2,
        ..short(members)
    }
}

/// Like [`kept`] with two members, but only A keeps locks, and B locks once. Replies are prompt.
pub(super) fn kept_by_one() -> Rules {
    Rules {
        keepers: 1,
        prompt: true,
        symmetric: false,
        ..kept(2)
    }
}

/// Like [`kept_by_one`], but the lease is long enough to be renewed every tick.
pub(super) fn kept_on() -> Rules {
    Rules {
        retain: 2,
        ..kept_by_one()
    }
}

fn faults() -> Faults {
    Faults::default()
}

/// Returns the small and the large runs.
#[must_use]
pub fn holding() -> Vec<Run> {
    let mut runs = small();
    runs.extend(keeping());
    runs.extend(large());
    runs
}

fn small() -> Vec<Run> {
    let service = |rules| Rules {
        service: true,
        ..rules
    };
    vec![
        Run::small(
            "2 members lock twice; anything takes any time",
            service(Rules {
                calls: 2,
                ..short(2)
            }),
        ),
        Run::small(
            "2 members, clocks that slip",
            Rules {
                slips: 1,
                ..Rules::new(2)
            },
        ),
        Run::small(
            "2 members, a connection breaks",
            service(Rules {
                faults: faults().breaks(1),
                ..short(2)
            }),
        ),
        Run::small(
            "2 members, one dies",
            service(Rules {
                faults: faults().crashes(1),
                ..Rules::new(2)
            }),
        ),
        Run::small(
            "2 members give up; messages are lost and come twice",
            service(Rules {
                cancels: true,
                faults: faults().losses(1).copies(1),
                messages: 2,
                ..short(2)
            }),
        ),
        Run::small(
            "2 members, a restart without data",
            service(Rules {
                faults: faults().restarts(1),
                ..short(2)
            }),
        ),
        Run::small(
            "2 members, a failover to an old replica",
            Rules {
                faults: faults().failovers(1),
                prompt: true,
                ..short(2)
            },
        ),
        Run::small(
            "3 members, one takes the store for closed, for longer than a claim; prompt replies",
            service(Rules {
                faults: faults().doubts(1),
                doubt: 2,
                prompt: true,
                ..short(3)
            }),
        ),
        Run::small(
            "2 members lock twice, one takes the store for closed",
            Rules {
                faults: faults().doubts(1),
                calls: 2,
                claim: 2,
                place: 1,
                ..short(2)
            },
        ),
        Run::small(
            "2 members, a failover to an old replica; one takes the store for closed",
            Rules {
                faults: faults().failovers(1).doubts(1),
                prompt: true,
                ..short(2)
            },
        ),
        Run::small(
            "2 members, the store's clock is stepped back",
            service(Rules {
                faults: faults().steps_back(1),
                ..Rules::new(2)
            }),
        ),
        Run::small(
            "2 members write to a register",
            Rules {
                register: true,
                ..short(2)
            },
        ),
        Run::small(
            "2 members write for ever, a restart without data, no guard",
            Rules {
                clocks: Clocks::Stopped,
                prompt: true,
                ..lawless(2)
            },
        ),
        Run::small(
            "3 members, prompt replies",
            service(Rules {
                prompt: true,
                ..short(3)
            }),
        ),
        Run::small(
            "a semaphore of 2, 3 members, one takes the store for closed; one grant at a time, prompt replies",
            service(Rules {
                capacity: 2,
                batch: 1,
                prompt: true,
                faults: faults().doubts(1),
                ..short(3)
            }),
        ),
        Run::small(
            "a semaphore of 2, 3 members, prompt replies",
            service(Rules {
                capacity: 2,
                prompt: true,
                ..short(3)
            }),
        ),
    ]
}

fn keeping() -> Vec<Run> {
    let service = |rules| Rules {
        service: true,
        ..rules
    };
    let one = |faults| Rules {
        faults,
        ..kept_by_one()
    };
    vec![
        Run::small(
            "kept: A keeps the lock, B locks once; prompt replies",
            kept_by_one(),
        ),
        Run::small(
            "kept: A keeps the lock, B locks once; messages are lost, prompt replies",
            service(Rules {
                faults: faults().losses(1),
                ..kept_on()
            }),
        ),
        Run::small(
            "kept: 1 member dies",
            Rules {
                faults: faults().crashes(1),
                ..kept(1)
            },
        ),
        Run::small(
            "kept: 1 member, a connection breaks, clocks that slip",
            service(Rules {
                slips: 1,
                allowance: 1,
                faults: faults().breaks(1),
                lease: 3,
                retain: 2,
                ..kept(1)
            }),
        ),
        Run::large(
            "kept: A keeps the lock, B locks once; anything takes any time",
            Rules {
                prompt: false,
                ..kept_by_one()
            },
        ),
        Run::large(
            "kept: A keeps the lock, B locks once; one dies, prompt replies",
            service(one(faults().crashes(1))),
        ),
        Run::large("kept: 2 members keep the lock", kept(2)),
        Run::large(
            "kept: A keeps the lock, B locks once; a connection breaks, prompt replies",
            one(faults().breaks(1)),
        ),
        Run::large(
            "kept: A keeps the lock for long, B locks once; a connection breaks, prompt replies",
            service(Rules {
                faults: faults().breaks(1),
                ..kept_on()
            }),
        ),
        Run::large(
            "kept: A keeps the lock, B locks once, clocks that slip",
            Rules {
                slips: 1,
                allowance: 1,
                lease: 3,
                retain: 2,
                prompt: false,
                ..kept_by_one()
            },
        ),
        Run::large(
            "kept: A keeps the lock, B locks once, a register",
            Rules {
                register: true,
                prompt: false,
                ..kept_by_one()
            },
        ),
        Run::large(
            "kept: A keeps the lock, B locks once; a restart without data, prompt replies",
            one(faults().restarts(1)),
        ),
        Run::large(
            "kept: A keeps the lock, B locks once; a failover to an old replica, prompt replies",
            one(faults().failovers(1)),
        ),
        Run::large(
            "kept: A keeps the lock for long, B locks once; one takes the store for closed, prompt replies",
            service(Rules {
                faults: faults().doubts(1),
                ..kept_on()
            }),
        ),
        Run::large(
            "kept: A keeps the lock, B locks once; the store's clock is stepped back, prompt replies",
            one(faults().steps_back(1)),
        ),
        Run::large(
            "kept: A keeps the lock, B and C lock once; prompt replies",
            Rules {
                members: 3,
                ..kept_by_one()
            },
        ),
    ]
}

/// Rules without any of the assumptions that exclusion needs.
pub(super) fn lawless(members: u8) -> Rules {
    Rules {
        clocks: Clocks::Free,
        closed: 0,
        register: true,
        faults: faults().restarts(1),
        assumed: false,
        ..short(members)
    }
}

fn large() -> Vec<Run> {
    vec![
        Run::large(
            "2 members lock twice, clocks that slip",
            Rules {
                slips: 1,
                calls: 2,
                ..Rules::new(2)
            },
        ),
        Run::large(
            "2 members, clocks that slip, a restart without data",
            Rules {
                slips: 1,
                faults: faults().restarts(1),
                ..Rules::new(2)
            },
        ),
        Run::large(
            "2 members, a restart without data; one takes the store for closed",
            Rules {
                faults: faults().restarts(1).doubts(1),
                service: true,
                ..short(2)
            },
        ),
        Run::large(
            "2 members, clocks that slip, a connection breaks",
            Rules {
                slips: 1,
                faults: faults().breaks(1),
                ..Rules::new(2)
            },
        ),
        Run::large(
            "2 members, 2 connections break, one dies",
            Rules {
                faults: faults().breaks(2).crashes(1),
                ..short(2)
            },
        ),
        Run::large(
            "2 members and a register; clocks as they like, a restart, no guard",
            lawless(2),
        ),
        Run::large(
            "2 members lock twice, a failover to an old replica",
            Rules {
                faults: faults().failovers(1),
                calls: 2,
                ..short(2)
            },
        ),
        Run::large("3 members", short(3)),
        Run::large(
            "a semaphore of 2, 3 members",
            Rules {
                capacity: 2,
                ..short(3)
            },
        ),
    ]
}
