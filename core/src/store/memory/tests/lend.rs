//! After a loan, a name is in the same state as if the store had executed every grant and release itself.

use super::*;
use crate::clock::Instant;
use crate::store::{Clock, Loan, Signal};

/// The same name in two worlds. One of the worlds lends the name whenever it can.
struct Twins {
    told: World,
    lent: World,
    loan: Option<Loan>,
    /// The acquire that was granted from the loan, and when its lease ends.
    holder: Option<(Op, u64)>,
    loans: usize,
    member: MemberId,
}

impl Twins {
    fn new() -> Self {
        Self {
            told: World::new(),
            lent: World::new(),
            loan: None,
            holder: None,
            loans: 0,
            member: MemberId::random(),
        }
    }

    fn run(&mut self, op: &Op) {
        let reply = self.told.run(self.member, op);
        let lent = match self.lend(op) {
            Some(reply) => reply,
            None => {
                self.take_back();
                self.lent.run(self.member, op)
            }
        };
        assert_eq!(lent, reply, "{op:?}");
        if self.loan.is_none() {
            let states = [&self.lent, &self.told].map(|world| format!("{:?}", world.state));
            assert_eq!(states[0], states[1], "after {op:?}");
        }
        assert_eq!(self.lent.told, self.told.told, "after {op:?}");
    }

    /// Grants and releases the lent name in the same way as the local queue.
    fn lend(&mut self, op: &Op) -> Option<Reply> {
        let now = Instant::from_nanos(self.lent.now * 1000);
        match op {
            Op::Acquire {
                hold,
                share,
                mode: Mode::Queue,
                ..
            } if is_plain(share) && self.holder.is_none() => {
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
                let Op::Acquire { share, .. } = holder else {
                    return None;
                };
                if holder.ticket() != Some(*ticket) || self.lent.now >= *ends {
                    return None;
                }
                let free = share.capacity.into();
                self.loan.as_mut()?.release(now);
                self.holder = None;
                Some(Reply::Released { free })
            }
            _ => None,
        }
    }

    fn take_back(&mut self) {
        if let Some(loan) = self.loan.take() {
            let held = self.holder.take().map(|(op, _)| op);
            self.lent.state.take_back(self.member, &loan, held.as_ref());
        }
    }

    fn pass(&mut self, millis: u64) {
        self.lent.pass(millis);
        self.told.pass(millis);
    }
}

/// Returns whether the local queue would use the loan for this request.
fn is_plain(share: &Share) -> bool {
    share.fits() && !share.takes && share.owner.is_empty()
}

#[test]
fn a_loan_leaves_what_every_operation_would_have_left() {
    let (mut twins, mut loans) = (Twins::new(), 0);
    let mut random = 7_u64;
    let mut dice = |sides: u64| {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (random >> 33) % sides
    };
    let mut tickets = vec![Ticket::random()];
    for counter in 1..20_000 {
        // Starts with a new name from time to time, because a name with old signals or tombstones cannot be lent.
        if counter % 40 == 0 {
            loans += twins.loans;
            (twins, tickets) = (Twins::new(), vec![Ticket::random()]);
        }
        // Prefers the latest tickets.
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
                owner: SharedStr::default(),
            },
        };
        twins.run(&op);
        let often = dice(4) > 0;
        twins.pass(if often { dice(3) } else { dice(40_000) });
    }
    assert!(loans > 500, "{loans} were grants of a name that was lent");
}

#[test]
fn a_time_that_was_read_before_the_last_operation_does_not_step_the_clock_back() {
    let mut world = World::new();
    let (member, other) = (MemberId::random(), Ticket::random());
    world.lock(member, other);
    world.release(member, other, 0, false);
    let before = Instant::from_nanos((world.now - 5) * 1000);
    let mut loan = world.state.lend(Clock::new(0, Instant::START)).unwrap();
    let token = loan.grant(before);
    assert!(token > world.now, "later than that of the one before");
    loan.release(before);
    world.state.take_back(member, &loan, None);
    let clock = format!("clock: {}", world.now);
    assert!(format!("{:?}", world.state).contains(&clock));
}
