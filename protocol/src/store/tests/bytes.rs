//! States of random operations as bytes, whole, cut and changed.

use core::time::Duration;

use crate::{
    BytesError, Dice, Env, LIMITS, Lease, LockKind, MemberId, Mode, Op, Retain, Share, SharedStr,
    Signal, State, Ticket,
};

const AT: u64 = 1_700_000_000_000_000;

struct Run {
    dice: Dice,
    state: State,
    now: u64,
    members: Vec<MemberId>,
    tickets: Vec<Ticket>,
}

impl Run {
    fn new(seed: u64) -> Self {
        let mut dice = Dice(seed);
        Self {
            members: [(); 3].map(|()| dice.member()).to_vec(),
            tickets: [(); 8].map(|()| dice.ticket()).to_vec(),
            dice,
            state: State::default(),
            now: AT,
        }
    }

    fn step(&mut self, capacity: u32) {
        let dice = &mut self.dice;
        self.now += 1000 * dice.of(&[0, 0, 1, 700, 2_500, 31_000]);
        let ticket = dice.of(&self.tickets);
        let lease = Lease {
            retain: dice.of(&[Retain::No, Retain::InUse, Retain::Kept]),
            ..Lease::of(
                ticket,
                dice.below(9),
                Duration::from_millis(dice.of(&[500, 2_000, 9_000])),
            )
        };
        let kind = if capacity > 1 {
            LockKind::Semaphore
        } else {
            LockKind::Mutex
        };
        let units = 1 + dice.below(u64::from(capacity)) as u32;
        let op = match dice.below(12) {
            0..5 => Op::Acquire {
                lease,
                share: Share {
                    kind,
                    units,
                    capacity,
                },
                mode: dice.of(&[Mode::Queue, Mode::Queue, Mode::Try]),
                meta: "host 1 a::b".into(),
            },
            5..7 => Op::Touch { lease, units: 0 },
            7..9 => Op::Release {
                ticket,
                park: Duration::from_millis(dice.of(&[0, 0, 3_000])),
                tomb: dice.one_in(3),
                used: 0,
            },
            9 => Op::Signal {
                ticket,
                signal: Signal::Token("gold".into()),
            },
            10 => Op::Adopt {
                old: dice.of(&self.tickets),
                lease,
                meta: "host 2 c".into(),
            },
            _ => Op::Kick {
                token: self.state.token(),
                by: "them".into(),
            },
        };
        let hears = |_| true;
        let env = Env {
            now: self.now,
            grants_from: 0,
            member: dice.of(&self.members),
            limits: &LIMITS,
            hears: &hears,
        };
        self.state.on(&op, &env, &mut Vec::new());
    }
}

/// All states of some runs.
fn states(mut look: impl FnMut(&State, u64)) {
    for seed in 1..=60 {
        let mut run = Run::new(seed);
        for _ in 0..60 {
            run.step(1 + seed as u32 % 3);
            look(&run.state, run.now);
        }
    }
}

#[test]
fn a_state_comes_back_from_its_bytes_and_moves_with_the_clock() {
    let mut longest = 0;
    states(|state, now| {
        let bytes = state.encode(now).unwrap();
        assert_eq!(State::decode(&bytes, now).as_ref(), Ok(state));
        let later = now + 86_400_000_000;
        let moved = State::decode(&bytes, later).unwrap();
        assert_eq!(moved.encode(later).unwrap(), bytes);
        longest = longest.max(bytes.len());
    });
    assert!(longest > 300, "nothing was in the states: {longest}");
}

#[test]
fn what_is_cut_or_changed_is_an_error_or_another_state() {
    let mut count = 0;
    states(|state, now| {
        count += 1;
        if count % 50 != 0 {
            return;
        }
        let bytes = state.encode(now).unwrap();
        for end in 0..bytes.len() {
            State::decode(&bytes[..end], now).unwrap_err();
        }
        for at in 0..bytes.len() {
            for other in [0, 1, 0x7f, 0x80, 0xff, bytes[at] ^ 1] {
                let mut changed = bytes.clone();
                changed[at] = other;
                if let Ok(mut state) = State::decode(&changed, now) {
                    let ticket = Ticket::from_bytes([7; 16]);
                    let env = Env {
                        now,
                        grants_from: 0,
                        member: MemberId::from_bytes([8; 16]),
                        limits: &LIMITS,
                        hears: &|_| false,
                    };
                    let lease = Lease::of(ticket, 1, Duration::from_secs(1));
                    let (share, mode, meta) = (Share::MUTEX, Mode::Queue, SharedStr::EMPTY);
                    let op = Op::Acquire {
                        lease,
                        share,
                        mode,
                        meta,
                    };
                    state.on(&op, &env, &mut Vec::new());
                    state.kept_until(&LIMITS);
                }
            }
        }
    });
}

#[test]
fn other_versions_and_too_many_bytes_are_told() {
    let bytes = State::default().encode(AT).unwrap();
    let later = [&[9], &bytes[1..]].concat();
    assert_eq!(State::decode(&later, AT), Err(BytesError::Version(9)));
    assert_eq!(State::decode(&[0], AT), Err(BytesError::Malformed));
    assert_eq!(State::decode(&[], AT), Err(BytesError::Malformed));
    assert_eq!(
        State::decode(&vec![1; 2 << 20], AT),
        Err(BytesError::TooLong)
    );
}
