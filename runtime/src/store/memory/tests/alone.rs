//! The short ways leave what the long ways leave, or nothing.

use super::*;
use crate::store::{Seat, Signal};

/// The same name twice: one goes the short ways where it can.
struct Twins {
    long: World,
    short: World,
    member: MemberId,
    shortened: usize,
}

impl Twins {
    fn new() -> Self {
        Self {
            long: World::new(),
            short: World::new(),
            member: MemberId::random(),
            shortened: 0,
        }
    }

    fn run(&mut self, op: &Op) {
        let reply = self.long.run(self.member, op);
        let short = match self.shorten(op) {
            Some(reply) => {
                self.shortened += 1;
                reply
            }
            None => self.short.run(self.member, op),
        };
        assert_eq!(short, reply, "{op:?}");
        let states = [&self.short, &self.long].map(|world| format!("{:?}", world.state));
        assert_eq!(states[0], states[1], "after {op:?}");
        assert_eq!(self.short.told, self.long.told, "after {op:?}");
    }

    fn shorten(&mut self, op: &Op) -> Option<Reply> {
        let World { state, now, .. } = &mut self.short;
        match *op {
            Op::Acquire {
                ticket,
                counter,
                ref share,
                hold,
                place,
                mode: Mode::Queue,
                ref meta,
            } => {
                let seat = Seat {
                    ticket,
                    counter,
                    share,
                    hold,
                    place,
                    meta,
                };
                let token = state.grant_alone(*now, self.member, &seat)?;
                let signal = None;
                Some(Reply::Granted { token, signal })
            }
            Op::Release {
                ticket,
                park: Duration::ZERO,
                tomb: false,
                ..
            } => {
                let free = state.release_alone(*now, ticket)?;
                Some(Reply::Released { free })
            }
            _ => None,
        }
    }

    fn pass(&mut self, millis: u64) {
        self.long.pass(millis);
        self.short.pass(millis);
    }
}

#[test]
fn the_short_ways_do_what_the_long_ways_do() {
    let (mut twins, mut shortened) = (Twins::new(), 0);
    let mut random = 7_u64;
    let mut dice = |sides: u64| {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (random >> 33) % sides
    };
    let mut tickets = vec![Ticket::random()];
    for counter in 1..20_000 {
        // Anew, since signals and tombstones stay.
        if counter % 40 == 0 {
            shortened += twins.shortened;
            (twins, tickets) = (Twins::new(), vec![Ticket::random()]);
        }
        // Mostly one of the last.
        let back = dice(4).min(dice(4)) as usize;
        let ticket = tickets[tickets.len().saturating_sub(1 + back)];
        let op = match dice(20) {
            0..8 => {
                tickets.push(Ticket::random());
                Op::Acquire {
                    ticket: tickets[tickets.len() - 1],
                    counter,
                    share: Share {
                        takes: dice(9) == 0,
                        owner: if dice(9) == 0 { "o" } else { "" }.into(),
                        ..Share::of(dice(4) as u32, dice(3) as u32)
                    },
                    hold: Duration::from_secs(1 + dice(60)),
                    place: Duration::from_secs(10),
                    mode: if dice(9) == 0 { Mode::Try } else { Mode::Queue },
                    meta: "h 1 s".into(),
                }
            }
            8..17 => Op::Release {
                ticket,
                park: Duration::from_secs(dice(20) / 19),
                tomb: dice(20) == 0,
                used: 0,
            },
            17 => Op::Touch {
                ticket,
                counter,
                units: 0,
                hold: Duration::from_secs(5),
                place: Duration::from_secs(10),
            },
            18 if dice(3) == 0 => Op::Signal {
                ticket: Ticket::random(),
                signal: Signal::Token("text".into()),
            },
            _ => Op::Force {
                owner: Text::default(),
            },
        };
        twins.run(&op);
        let often = dice(4) > 0;
        twins.pass(if often { dice(3) } else { dice(40_000) });
    }
    assert!(shortened > 1_000, "{shortened} were short");
}

#[test]
fn a_time_that_was_read_before_the_last_operation_does_not_step_the_clock_back() {
    let mut world = World::new();
    let (member, share, meta) = (MemberId::random(), Share::of(1, 1), "h 1 s".into());
    let seat = Seat {
        ticket: Ticket::random(),
        counter: 1,
        share: &share,
        hold: Duration::from_secs(10),
        place: Duration::from_secs(10),
        meta: &meta,
    };
    let other = Ticket::random();
    world.lock(member, other);
    world.release(member, other, 0, false);
    let before = world.now - 5;
    let token = world.state.grant_alone(before, member, &seat).unwrap();
    assert!(token > before + 5, "later than that of the one before");
    assert_eq!(world.state.release_alone(before, seat.ticket), Some(1));
    let clock = format!("clock: {}", world.now);
    assert!(format!("{:?}", world.state).contains(&clock));
}
