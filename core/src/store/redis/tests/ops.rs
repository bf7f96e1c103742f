//! Operations for most tests: leases and places of ten seconds, and no options.

use std::time::Duration;

use crate::store::{Mode, Op, Share, Ticket};

pub(super) fn acquire(ticket: Ticket, capacity: u32, mode: Mode) -> Op {
    Op::Acquire {
        ticket,
        counter: 1,
        share: Share::of(1, capacity),
        hold: Duration::from_secs(10),
        place: Duration::from_secs(10),
        mode,
        meta: "host 1 site".into(),
    }
}

pub(super) fn touch(ticket: Ticket) -> Op {
    Op::Touch {
        ticket,
        counter: 2,
        units: 0,
        hold: Duration::from_secs(10),
        place: Duration::from_secs(10),
    }
}

pub(super) fn release(ticket: Ticket) -> Op {
    Op::Release {
        ticket,
        park: Duration::ZERO,
        tomb: false,
        used: 0,
    }
}
