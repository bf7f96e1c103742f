//! Operations for most tests: leases and places of ten seconds, and no options.

use std::time::Duration;

use auto_mutex_seam::store::{Lease, Mode, Op, Share, Ticket};

pub(super) fn acquire(ticket: Ticket, capacity: u32, mode: Mode) -> Op {
    Op::Acquire {
        lease: Lease::of(ticket, 1, Duration::from_secs(10)),
        share: Share::of(1, capacity),
        mode,
        meta: "host 1 site".into(),
    }
}

pub(super) fn touch(ticket: Ticket) -> Op {
    Op::Touch {
        lease: Lease::of(ticket, 2, Duration::from_secs(10)),
        units: 0,
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
