//! Random operations, some of which no client would send, and the uses of a name.

use std::collections::HashMap;
use std::time::Duration;

use auto_mutex_seam::store::{Lease, Mode, Op, RW_LOCK, Retain, Share, Signal, Ticket};
use auto_mutex_seam::{LockKind, testing::Dice};

/// Texts of signals, which may be anything.
const TEXTS: [&str; 10] = [
    "a",
    "a",
    "a",
    "b",
    "",
    " two words ",
    "7 a",
    "nul\0 and\r\nlines",
    "ünïcödé%20",
    "{}",
];

/// The use of one name in a run.
pub(super) struct Use {
    capacity: u32,
    kind: LockKind,
    /// Leases are long and little time passes, so that the queue grows.
    crowd: bool,
    /// Only acquires, touches and releases are used.
    plain: bool,
    /// Clients may keep the lock between calls.
    retains: bool,
    /// The last known token of each ticket.
    tokens: HashMap<Ticket, u64>,
    /// The identities of the signals that were added.
    signalled: Vec<Ticket>,
}

impl Use {
    pub(super) fn any(dice: &mut Dice, crowd: bool, retains: bool) -> Self {
        let plain = crowd && dice.one_in(4);
        let capacity = dice.of(&[u32::from(plain), 1, 1, 4, 4, RW_LOCK, RW_LOCK]);
        Self {
            capacity,
            kind: match capacity {
                0 => LockKind::Condvar,
                _ if !plain && dice.one_in(2) => LockKind::Semaphore,
                _ => LockKind::Mutex,
            },
            crowd,
            plain,
            retains,
            tokens: HashMap::new(),
            signalled: Vec::new(),
        }
    }

    /// Records that a ticket was granted.
    pub(super) fn granted(&mut self, ticket: Ticket, token: u64) {
        self.tokens.insert(ticket, token);
    }

    fn share(&self, dice: &mut Dice) -> Share {
        let capacity = if dice.one_in(40) {
            dice.of(&[0, 1, 4, RW_LOCK])
        } else if self.kind == LockKind::Semaphore && dice.one_in(7) {
            dice.of(&[1, 2, 3, 5])
        } else {
            self.capacity
        };
        let units = match dice.below(24) {
            0 => capacity + 1,
            1..9 => capacity.max(1),
            9..12 => capacity.clamp(1, 2),
            _ => 1,
        };
        Share {
            kind: match self.kind {
                kind if self.plain || !dice.one_in(10) => kind,
                LockKind::Mutex => LockKind::Condvar,
                _ => LockKind::Mutex,
            },
            units,
            capacity,
        }
    }

    fn hold(&self, dice: &mut Dice) -> Duration {
        dice.millis(if self.crowd {
            &[2_500, 10_000]
        } else {
            &[1, 500, 1_000, 3_000, 10_000, 10_000]
        })
    }

    fn place(&self, dice: &mut Dice) -> Duration {
        dice.millis(if self.crowd {
            &[5_000, 10_000, 30_000]
        } else {
            &[2, 300, 1_000, 5_000, 10_000, 30_000]
        })
    }

    fn retain(&self, dice: &mut Dice) -> Retain {
        match self.retains {
            true => dice.of(&[Retain::No, Retain::InUse, Retain::Kept]),
            false => Retain::No,
        }
    }

    /// Returns the next operation. Its ticket is one of `tickets`, unless it adds a signal. The tickets in `holding`
    /// are a part of `tickets`.
    pub(super) fn op(
        &mut self,
        dice: &mut Dice,
        tickets: &[Ticket],
        holding: &[Ticket],
        counter: u64,
    ) -> Op {
        let mut ticket = dice.of(tickets);
        let kind = dice.below(if self.plain { 44 } else { 56 });
        if kind >= 20 && !holding.is_empty() && dice.one_in(2) {
            ticket = dice.of(holding);
        }
        let hold = self.hold(dice);
        let mut place = self.place(dice);
        // As most clients have it, and Redis encodes such a request in another way.
        if !self.crowd && counter.is_multiple_of(2) {
            place = hold;
        }
        let retain = self.retain(dice);
        match kind {
            0..20 => Op::Acquire {
                lease: Lease {
                    ticket,
                    counter,
                    hold,
                    place,
                    retain,
                },
                share: self.share(dice),
                mode: if dice.one_in(4) {
                    Mode::Try
                } else {
                    Mode::Queue
                },
                meta: dice.of(&["host 12 a%20site", "host 34 another"]).into(),
            },
            20..34 => Op::Touch {
                lease: Lease {
                    ticket,
                    counter,
                    hold,
                    place,
                    retain,
                },
                units: dice.of(&[0, 0, 0, 0, 1, 1, 2, 5]),
            },
            34..44 => self.release(dice, ticket),
            44..46 => Op::Adopt {
                old: dice.of(if holding.is_empty() { tickets } else { holding }),
                lease: Lease {
                    ticket: dice.of(tickets),
                    counter,
                    hold,
                    place,
                    retain,
                },
                meta: "host 56 heir".into(),
            },
            // The token may belong to a hold that is still valid, or to one that is over.
            46 if dice.one_in(2) => Op::Kick {
                token: self.tokens.get(&ticket).copied().unwrap_or(17),
                by: "host 56 ops".into(),
            },
            46 => Op::Force,
            47..53 => self.signal(dice),
            // In a crowd, a raise is rare.
            53 if self.crowd && !dice.one_in(8) => self.release(dice, ticket),
            53 => Op::Raise {
                ticket,
                // A token that another server might have given at about the same time.
                token: self.tokens.get(&ticket).copied().unwrap_or(17) + dice.below(3) * 400_000,
            },
            54 => Op::Delete,
            _ => Op::Inspect {
                above: dice.of(&[0, 1, 2, 4, RW_LOCK]),
            },
        }
    }

    /// Returns an acquire of one of many tickets that come at the same time.
    pub(super) fn acquire_in_herd(&self, ticket: Ticket, time: Duration) -> Op {
        Op::Acquire {
            lease: Lease::of(ticket, 1, time),
            share: Share {
                kind: self.kind,
                units: 1,
                capacity: self.capacity,
            },
            mode: Mode::Queue,
            meta: "host 12 a%20site".into(),
        }
    }

    fn release(&self, dice: &mut Dice, ticket: Ticket) -> Op {
        if self.plain {
            return Op::Release {
                ticket,
                park: Duration::ZERO,
                tomb: false,
                used: 0,
            };
        }
        let park = if dice.one_in(6) {
            dice.millis(&[1, 800, 20_000, 2_000_000])
        } else {
            Duration::ZERO
        };
        // `used` is usually the last token that the client knows for the ticket, which may not be the current one.
        let used = if dice.one_in(3) {
            0
        } else {
            self.tokens.get(&ticket).copied().unwrap_or(17)
        };
        Op::Release {
            ticket,
            park,
            tomb: dice.one_in(6),
            used,
        }
    }

    fn signal(&mut self, dice: &mut Dice) -> Op {
        let again = !self.signalled.is_empty() && dice.one_in(5);
        let ticket = if again {
            dice.of(&self.signalled)
        } else {
            dice.ticket()
        };
        self.signalled.push(ticket);
        let signal = match dice.below(6) {
            0..3 if dice.one_in(30) => Signal::Token("long\n".repeat(900).into()),
            0..3 => Signal::Token(dice.of(&TEXTS).into()),
            3..5 => Signal::One,
            _ => Signal::All,
        };
        Op::Signal { ticket, signal }
    }
}
