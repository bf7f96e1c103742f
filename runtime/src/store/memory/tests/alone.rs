//! The short ways leave what the long ways leave, or nothing.

use super::*;
use crate::clock::Instant;
use crate::store::{Clock, Loan, Seat, Signal};

/// The same name in three worlds: one goes the short ways where it can, one lends the name while it can.
struct Twins {
    long: World,
    short: World,
    lent: World,
    loan: Option<Loan>,
    /// The acquire that the loan was granted to, and when its lease ends.
    holder: Option<(Op, u64)>,
    loans: usize,
    member: MemberId,
    shortened: usize,
}

impl Twins {
    fn new() -> Self {
        Self {
            long: World::new(),
            short: World::new(),
            lent: World::new(),
            loan: None,
            holder: None,
            loans: 0,
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
        let lent = match self.lend(op) {
            Some(reply) => reply,
            None => {
                self.take_back();
                self.lent.run(self.member, op)
            }
        };
        assert_eq!(lent, reply, "{op:?}");
        if self.loan.is_none() {
            let states = [&self.lent, &self.long].map(|world| format!("{:?}", world.state));
            assert_eq!(states[0], states[1], "after {op:?}");
        }
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

    /// As the local queue does it.
    fn lend(&mut self, op: &Op) -> Option<Reply> {
        let now = Instant::from_nanos(self.lent.now * 1000);
        match op {
            Op::Acquire {
                hold,
                mode: Mode::Queue,
                ..
            } if seat(op)?.is_plain() && self.holder.is_none() => {
                if self.loan.is_none() {
                    let clock = Clock::new(0, Instant::START);
                    self.loan = self.lent.state.lend(clock);
                }
                let token = self.loan.as_mut()?.grant(now);
                self.loans += 1;
                let ends = self.lent.now + hold.as_micros() as u64;
                self.holder = Some((op.clone(), ends));
                let signal = None;
                Some(Reply::Granted { token, signal })
            }
            Op::Release {
                ticket,
                park: Duration::ZERO,
                tomb: false,
                ..
            } => {
                let (holder, ends) = self.holder.as_ref()?;
                let seat = seat(holder).filter(|seat| seat.ticket == *ticket)?;
                if self.lent.now >= *ends {
                    return None;
                }
                let free = seat.share.capacity.into();
                self.loan.as_mut()?.release(now);
                self.holder = None;
                Some(Reply::Released { free })
            }
            _ => None,
        }
    }

    fn take_back(&mut self) {
        if let Some(loan) = self.loan.take() {
            let holder = self.holder.take();
            let held = holder.as_ref().and_then(|(op, _)| seat(op));
            self.lent.state.take_back(self.member, &loan, held.as_ref());
        }
    }

    fn pass(&mut self, millis: u64) {
        self.lent.pass(millis);
        self.long.pass(millis);
        self.short.pass(millis);
    }
}

fn seat(op: &Op) -> Option<Seat<'_>> {
    let Op::Acquire {
        ticket,
        counter,
        share,
        hold,
        place,
        meta,
        ..
    } = op
    else {
        return None;
    };
    Some(Seat {
        ticket: *ticket,
        counter: *counter,
        share,
        hold: *hold,
        place: *place,
        meta,
    })
}

#[test]
fn the_short_ways_do_what_the_long_ways_do() {
    let (mut twins, mut shortened, mut loans) = (Twins::new(), 0, 0);
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
            loans += twins.loans;
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
    assert!(loans > 500, "{loans} were grants of a name that was lent");
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
