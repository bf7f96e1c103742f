//! Waiters that may be dead.

use alloc::vec::Vec;
use core::time::Duration;

use crate::{
    Env, LIMITS, Lease, MemberId, Message, Mode, Op, Reply, Share, SharedStr, State, Ticket,
};

const SECOND: u64 = 1_000_000;

/// A name, and the time of its store.
struct Name {
    state: State,
    now: u64,
    messages: Vec<(MemberId, Message)>,
}

fn member(number: u8) -> MemberId {
    MemberId::from_bytes([number; 16])
}

fn ticket(number: u8) -> Ticket {
    Ticket::from_bytes([number; 16])
}

impl Name {
    fn new() -> Self {
        Self {
            state: State::default(),
            now: 1_000_000 * SECOND,
            messages: Vec::new(),
        }
    }

    fn ask(&mut self, number: u8, op: &Op) -> Reply {
        let env = Env {
            now: self.now,
            grants_from: 0,
            member: member(number),
            limits: &LIMITS,
            hears: &|_| true,
        };
        self.state.on(op, &env, &mut self.messages)
    }

    fn acquire(&mut self, number: u8) -> Reply {
        let lease = Lease::of(ticket(number), 1, Duration::from_secs(10));
        let (share, mode, meta) = (Share::MUTEX, Mode::Queue, SharedStr::EMPTY);
        let acquire = Op::Acquire {
            lease,
            share,
            mode,
            meta,
        };
        self.ask(number, &acquire)
    }

    fn release(&mut self, number: u8) -> Reply {
        let (ticket, park) = (ticket(number), Duration::ZERO);
        let release = Op::Release {
            ticket,
            park,
            tomb: false,
            used: 0,
        };
        self.ask(number, &release)
    }

    fn granted(&mut self) -> Vec<MemberId> {
        let told = self.messages.drain(..);
        let grants = told.filter(|(_, message)| matches!(message, Message::Grant { .. }));
        grants.map(|(to, _)| to).collect()
    }
}

/// Otherwise each dead waiter would delay the others by the time of an unclaimed grant.
#[test]
fn whoever_was_silent_for_longer_than_a_claim_is_passed_over() {
    let mut name = Name::new();
    for number in 1..=4 {
        name.acquire(number);
        name.now += 1;
    }
    name.now += 2 * SECOND + 1;
    name.acquire(5);
    assert_eq!(name.release(1), Reply::Released { free: 0 });
    assert_eq!(name.granted(), [member(5)], "three were silent");
    // One of them was only slow: it has the place of before.
    name.acquire(6);
    name.acquire(3);
    name.release(5);
    assert_eq!(name.granted(), [member(3)]);
}
