//! The runs in which every property holds, and those that show what they rest on.

use auto_mutex_protocol::Share;
use auto_mutex_protocol::client::Patience;

use crate::check::{Run, large, small};
use crate::name::properties::{EXCLUSION, RELEASED, TOKENS};
use crate::name::rules::{Clocks, Mishaps, Rules, Setup, TICK};
use crate::name::world::Action::{
    self, Adopt, Break, Connect, Due, Enter, Execute, Export, Late, Message, Release, Reply,
    Restart, Tick,
};

fn none() -> Mishaps {
    Mishaps::default()
}

/// Replies are prompt, and service is checked.
fn prompt(clients: u8) -> Rules {
    Rules {
        prompt: true,
        pipeline: 1,
        service: true,
        ..Rules::new(clients)
    }
}

/// Two clients, prompt replies, and mishaps.
fn with(mishaps: Mishaps) -> Rules {
    let rules = prompt(2);
    Rules { mishaps, ..rules }
}

/// A keeps the lock, and calls twice; B calls once.
fn kept(mishaps: Mishaps) -> Rules {
    Rules {
        keepers: 1,
        calls: vec![(2, 1), (1, 1)],
        ..with(mishaps)
    }
}

/// Replies may take any time, too.
fn slow(rules: Rules) -> Rules {
    Rules {
        prompt: false,
        pipeline: 2,
        service: false,
        ..rules
    }
}

/// No time passes.
fn frozen(clients: u8) -> Rules {
    Rules {
        clocks: Clocks::Frozen,
        calls: vec![(2, 1)],
        ..slow(prompt(clients))
    }
}

/// All runs.
pub fn all() -> Vec<Run<Rules>> {
    let mut all = plain();
    all.extend(wishes());
    all.extend(mishaps());
    all.extend(operators());
    all.extend(keeping());
    all.extend(ends());
    all.extend(refusals());
    all.extend(strangers());
    all
}

fn plain() -> Vec<Run<Rules>> {
    let twice = |rules| Rules {
        calls: vec![(2, 1)],
        ..rules
    };
    let cancels = |mishaps| Rules {
        cancels: true,
        calls: vec![(2, 1), (1, 1)],
        ..with(mishaps)
    };
    // A client asks again before it knows that its release has arrived.
    let hasty = Rules {
        pipeline: 2,
        ..cancels(none())
    };
    let slips = Rules {
        slips: 1,
        ..prompt(2)
    };
    vec![
        small("two_clients", slow(prompt(2))),
        small(
            "two_calls_at_once_and_another_client",
            Rules {
                calls: vec![(3, 2), (2, 1)],
                tokens: 3,
                ..frozen(2)
            },
        ),
        small("three_clients", frozen(3)),
        small(
            "a_semaphore",
            Rules {
                shares: vec![Share::permits(1, 2)],
                ..frozen(3)
            },
        ),
        small(
            "a_writer_and_two_readers",
            Rules {
                shares: vec![Share::of(2, 2), Share::of(1, 2)],
                calls: vec![(2, 1), (1, 1)],
                ..frozen(3)
            },
        ),
        small(
            "too_many_calls_wait",
            Rules {
                calls: vec![(3, 3), (1, 1)],
                max_waiters: 1,
                tokens: 3,
                ..frozen(2)
            },
        ),
        small("calls_give_up", hasty),
        small(
            "calls_give_up_and_messages_come_twice",
            cancels(Mishaps {
                copies: 1,
                ..none()
            }),
        ),
        small("clocks_slip", slips),
        small(
            "the_clock_stalls",
            Rules {
                stalls: true,
                ..twice(prompt(2))
            },
        ),
        large("two_clients_call_twice_slowly", twice(slow(prompt(2)))),
        large("three_clients_slowly", slow(prompt(3))),
    ]
}

fn wishes() -> Vec<Run<Rules>> {
    let asks = |patience| Rules {
        patience: vec![Patience::Queue(None), patience],
        ..prompt(2)
    };
    let polls_for = |ticks| Patience::Poll {
        retries: 2,
        interval: TICK,
        block: Some(TICK * ticks),
    };
    let polls = Patience::Poll {
        retries: 2,
        interval: TICK,
        block: None,
    };
    vec![
        small(
            "at_least_counts_for_calls_of_the_client",
            Rules {
                at_least: 1,
                calls: vec![(2, 2)],
                ..prompt(1)
            },
        ),
        small(
            "calls_of_an_owner",
            Rules {
                owned: true,
                calls: vec![(2, 2), (1, 1)],
                ..frozen(2)
            },
        ),
        small(
            "a_hold_is_handed_over",
            Rules {
                mishaps: Mishaps {
                    exports: 1,
                    ..none()
                },
                ..frozen(2)
            },
        ),
        small(
            "a_waiter_is_notified",
            Rules {
                shares: vec![Share::NOTIFICATION],
                mishaps: Mishaps {
                    signals: 2,
                    ..none()
                },
                ..frozen(2)
            },
        ),
        small(
            "the_store_does_not_answer_in_time",
            Rules {
                store_timeout: 1,
                asks: true,
                calls: vec![(2, 2)],
                expire: vec![2],
                cancels: true,
                mishaps: Mishaps {
                    breaks: 1,
                    renewals: 1,
                    ..none()
                },
                ..prompt(1)
            },
        ),
        small("one_client_polls", asks(polls)),
        small(
            "a_client_tries_what_another_keeps",
            Rules {
                patience: vec![Patience::Queue(None), Patience::NONE],
                ..kept(none())
            },
        ),
        small(
            "calls_miss_their_grants",
            Rules {
                lease: 1,
                patience: vec![polls_for(3), Patience::Queue(Some(TICK * 2))],
                mishaps: Mishaps {
                    misses: 2,
                    ..none()
                },
                service: false,
                ..prompt(2)
            },
        ),
        small(
            "a_call_misses_every_grant",
            Rules {
                lease: 1,
                mishaps: Mishaps {
                    misses: 7,
                    ..none()
                },
                ..prompt(1)
            },
        ),
        small(
            "a_program_skips_its_locks",
            Rules {
                skips: true,
                assumed: false,
                ..frozen(2)
            },
        ),
    ]
}

/// Holds end with `expire`, and clients end.
fn ends() -> Vec<Run<Rules>> {
    let closes = Mishaps {
        closes: 1,
        ..none()
    };
    vec![
        small(
            "a_call_expires",
            Rules {
                clients: 1,
                expire: vec![3],
                ..slow(prompt(1))
            },
        ),
        small(
            "a_call_expires_after_another_of_its_client",
            Rules {
                calls: vec![(2, 2)],
                expire: vec![1, 0],
                mishaps: Mishaps {
                    renewals: 1,
                    ..none()
                },
                ..prompt(1)
            },
        ),
        small(
            "a_call_expires_in_what_is_kept",
            Rules {
                clients: 1,
                calls: vec![(2, 1)],
                claim: 2,
                lease: 3,
                expire: vec![1, 0],
                ..kept(none())
            },
        ),
        small(
            "a_client_ends_and_its_hold_is_kept_for_at_least",
            Rules {
                at_least: 1,
                ..with(closes)
            },
        ),
        small(
            "a_client_drains_and_ends_and_keeps_nothing",
            Rules {
                calls: vec![(2, 1), (1, 1)],
                keepers: 1,
                service: true,
                mishaps: Mishaps {
                    drains: 1,
                    ..closes
                },
                ..frozen(2)
            },
        ),
    ]
}

/// The store refuses, and clients ask it about the name.
fn refusals() -> Vec<Run<Rules>> {
    let refuses = Rules {
        calls: vec![(2, 2)],
        asks: true,
        cancels: true,
        mishaps: Mishaps {
            errors: 1,
            ..none()
        },
        ..prompt(1)
    };
    let shares = |shares| Rules {
        shares,
        calls: vec![(1, 1)],
        ..frozen(2)
    };
    vec![
        small(
            "the_store_refuses_a_request",
            Rules {
                shares: vec![Share::permits(1, 2)],
                ..refuses.clone()
            },
        ),
        small(
            "the_store_refuses_a_request_of_a_client_that_tries",
            Rules {
                patience: vec![Patience::NONE],
                ..refuses
            },
        ),
        small(
            "a_client_asks_about_the_name",
            Rules {
                keepers: 1,
                calls: vec![(2, 1)],
                mishaps: Mishaps {
                    queries: 1,
                    breaks: 1,
                    ..none()
                },
                ..prompt(1)
            },
        ),
        small(
            "one_client_keeps_another_kind_of_lock",
            Rules {
                keepers: 1,
                ..shares(vec![Share::MUTEX, Share::permits(1, 2)])
            },
        ),
        small(
            "one_client_wants_more_permits_than_there_are",
            Rules {
                calls: vec![(2, 2), (1, 1)],
                ..shares(vec![Share::permits(1, 2), Share::permits(3, 2)])
            },
        ),
        small(
            "one_client_gives_fewer_permits",
            Rules {
                calls: vec![(2, 2), (1, 1)],
                ..shares(vec![Share::permits(1, 2), Share::permits(1, 1)])
            },
        ),
        small(
            "units_are_added_to_a_semaphore",
            Rules {
                mishaps: Mishaps {
                    signals: 2,
                    ..none()
                },
                ..shares(vec![Share::permits(1, 0)])
            },
        ),
    ]
}

fn strangers() -> Vec<Run<Rules>> {
    let overhears = Mishaps {
        overhears: 1,
        ..none()
    };
    vec![
        small(
            "a_stranger_sends_what_it_makes_of_messages",
            Rules {
                cancels: true,
                ..with(overhears)
            },
        ),
        small(
            "a_stranger_recalls_what_is_kept",
            Rules {
                clocks: Clocks::Frozen,
                ..kept(overhears)
            },
        ),
    ]
}

fn operators() -> Vec<Run<Rules>> {
    let operator = |mishaps| Rules {
        messages: 2,
        mishaps,
        ..frozen(2)
    };
    vec![
        small(
            "an_operator_forces_the_lock",
            operator(Mishaps {
                forces: 1,
                ..none()
            }),
        ),
        small(
            "an_operator_kicks_whom_it_has_seen",
            operator(Mishaps { kicks: 1, ..none() }),
        ),
    ]
}

fn mishaps() -> Vec<Run<Rules>> {
    let breaks = || {
        with(Mishaps {
            breaks: 1,
            ..none()
        })
    };
    let restarts = || {
        with(Mishaps {
            restarts: 1,
            ..none()
        })
    };
    let failovers = with(Mishaps {
        failovers: 1,
        ..none()
    });
    let doubts = || {
        with(Mishaps {
            doubts: 1,
            ..none()
        })
    };
    vec![
        small("a_connection_breaks", breaks()),
        small(
            "a_client_dies",
            with(Mishaps {
                crashes: 1,
                ..none()
            }),
        ),
        small(
            "a_client_dies_with_a_long_lease",
            Rules {
                lease: 5,
                ..with(Mishaps {
                    crashes: 1,
                    ..none()
                })
            },
        ),
        small("the_store_loses_its_data", restarts()),
        small(
            "the_store_reports_that_it_has_lost_its_data",
            Rules {
                patience: vec![Patience::Queue(Some(TICK))],
                mishaps: Mishaps {
                    restarts: 1,
                    reports: 1,
                    ..none()
                },
                ..prompt(1)
            },
        ),
        small(
            "a_client_begins_before_it_is_connected",
            Rules {
                offline: true,
                patience: vec![Patience::NONE],
                asks: true,
                cancels: true,
                calls: vec![(2, 2)],
                ..prompt(1)
            },
        ),
        small(
            "the_store_drops_what_is_over",
            Rules {
                sweeps: true,
                cancels: true,
                calls: vec![(2, 1)],
                late: 2,
                tomb: 3,
                mishaps: Mishaps {
                    breaks: 1,
                    ..none()
                },
                ..prompt(1)
            },
        ),
        large(
            "a_replica_takes_over",
            Rules {
                service: false,
                ..failovers
            },
        ),
        small(
            "the_clock_is_stepped_back",
            with(Mishaps {
                steps_back: 1,
                ..none()
            }),
        ),
        small(
            "one_client_dies_and_the_clock_is_stepped_back",
            Rules {
                clients: 1,
                ..with(Mishaps {
                    crashes: 1,
                    steps_back: 1,
                    ..none()
                })
            },
        ),
        small("a_client_takes_the_store_for_closed", doubts()),
        large(
            "a_client_takes_the_store_for_closed_slowly",
            Rules {
                prompt: false,
                service: false,
                ..doubts()
            },
        ),
        // Without any of the assumptions that exclusion needs.
        small(
            "tokens_grow_whatever_happens",
            Rules {
                clocks: Clocks::Stopped,
                closed: 0,
                assumed: false,
                service: false,
                ..restarts()
            },
        ),
        large("a_connection_breaks_slowly", slow(breaks())),
        large(
            "a_connection_breaks_between_two_calls",
            Rules {
                service: false,
                calls: vec![(1, 1), (2, 1)],
                ..breaks()
            },
        ),
        large(
            "a_client_takes_the_store_for_closed_for_long",
            Rules {
                doubt: 2,
                clients: 3,
                ..doubts()
            },
        ),
    ]
}

fn keeping() -> Vec<Run<Rules>> {
    let alone = Rules {
        clients: 1,
        keepers: 1,
        calls: vec![(3, 1)],
        ..prompt(1)
    };
    vec![
        small("kept", kept(none())),
        // Without anybody who asks for it.
        small("kept_for_oneself", alone.clone()),
        small("kept_for_oneself_slowly", slow(alone.clone())),
        small(
            "kept_for_oneself_and_a_connection_breaks",
            Rules {
                mishaps: Mishaps {
                    breaks: 1,
                    ..none()
                },
                ..slow(alone.clone())
            },
        ),
        small(
            "kept_and_the_clock_stalls",
            Rules {
                stalls: true,
                ..kept(none())
            },
        ),
        small(
            "kept_and_renewed",
            Rules {
                claim: 2,
                lease: 3,
                calls: vec![(1, 1)],
                ..kept(Mishaps {
                    losses: 1,
                    ..none()
                })
            },
        ),
        large("kept_slowly", slow(kept(none()))),
        small(
            "kept_and_messages_are_lost",
            kept(Mishaps {
                losses: 1,
                ..none()
            }),
        ),
        small(
            "kept_and_a_client_dies",
            kept(Mishaps {
                crashes: 1,
                ..none()
            }),
        ),
        large(
            "kept_and_a_connection_breaks",
            kept(Mishaps {
                breaks: 1,
                ..none()
            }),
        ),
        large(
            "kept_and_a_late_request_arrives",
            Rules {
                late: 3,
                tomb: 4,
                lease: 3,
                claim: 2,
                service: false,
                ..kept(Mishaps {
                    breaks: 1,
                    ..none()
                })
            },
        ),
        large(
            "kept_by_both",
            Rules {
                keepers: 2,
                calls: vec![(2, 1)],
                ..kept(none())
            },
        ),
    ]
}

/// Each drops one assumption, and a property that no longer holds.
pub fn assumptions() -> Vec<(&'static str, Rules, &'static str)> {
    vec![
        (
            "a clock loses no more than the allowance within a lease",
            Rules {
                clocks: Clocks::Stopped,
                ..prompt(2)
            },
            EXCLUSION,
        ),
        (
            "no lease is longer than a store without its data is closed",
            Rules {
                closed: 1,
                ..with(Mishaps {
                    restarts: 1,
                    ..none()
                })
            },
            EXCLUSION,
        ),
        (
            "late copies of a request arrive while its tombstone lasts",
            Rules {
                tomb: 1,
                late: 2,
                clients: 1,
                ..with(Mishaps {
                    breaks: 1,
                    ..none()
                })
            },
            RELEASED,
        ),
        (
            "if a store loses its data, its clock is later than the last token",
            with(Mishaps {
                restarts: 1,
                steps_back: 1,
                ..none()
            }),
            TOKENS,
        ),
    ]
}

/// The rules of the run with this name.
///
/// # Panics
///
/// If there is none.
pub fn run(name: &str) -> Setup {
    let run = all().into_iter().find(|run| run.name == name);
    Setup::new(run.unwrap_or_else(|| panic!("{name} is no run")).rules)
}

/// Faults of `tests/faults`, each with a run and a way that breaks a property of it while the fault is in the code.
pub fn counterexamples() -> Vec<(&'static str, &'static str, Vec<Action>)> {
    vec![
        (
            "answer-from-before-the-short-lease",
            "kept_for_oneself_slowly",
            vec![
                Enter(0),
                Execute(0),
                Reply(0),
                Tick(0),
                Due(0),
                Release(0, 0),
                Execute(0),
                Execute(0),
                Reply(0),
                Tick(0),
                Due(0),
                Reply(0),
                Enter(0),
            ],
        ),
        (
            "memory-late-copy-shortens-a-lease",
            "kept_for_oneself_and_a_connection_breaks",
            vec![
                Enter(0),
                Execute(0),
                Reply(0),
                Release(0, 0),
                Enter(0),
                Break(0),
                Connect(0),
                Execute(0),
                Late(0, 0),
                Reply(0),
                Tick(0),
            ],
        ),
        (
            "closed-store-grants",
            "the_store_loses_its_data",
            vec![
                Enter(0),
                Execute(0),
                Restart,
                Connect(1),
                Tick(0),
                Connect(0),
                Enter(1),
                Execute(0),
            ],
        ),
        (
            "message-counts-from-its-arrival",
            "two_clients",
            vec![
                Enter(0),
                Execute(0),
                Reply(0),
                Release(0, 0),
                Tick(0),
                Enter(1),
                Execute(1),
                Execute(0),
                Tick(0),
                Message(0, 0),
            ],
        ),
        (
            "adopted-hold-has-the-old-token",
            "a_hold_is_handed_over",
            vec![
                Enter(0),
                Execute(0),
                Reply(0),
                Export(0, 0),
                Enter(0),
                Execute(0),
                Execute(0),
                Reply(0),
                Adopt(1),
                Execute(1),
                Reply(0),
                Release(0, 0),
                Enter(0),
                Execute(0),
                Message(0, 0),
                Due(0),
                Execute(1),
                Reply(1),
                Reply(1),
            ],
        ),
    ]
}
