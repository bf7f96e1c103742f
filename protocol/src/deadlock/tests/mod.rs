//! Tests of the computation, of the questions and of the messages. `explorer/src/deadlock` explores whole searches, and
//! `core/src/deadlock/tests` runs random programs of real clients.

mod graphs;
mod probes;
mod questions;
mod records;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::{Dice, MemberId, Ticket, TicketRecord};

/// A new ticket.
fn fresh() -> Ticket {
    static SEEDS: AtomicU64 = AtomicU64::new(1 << 32);
    Dice(SEEDS.fetch_add(1, Ordering::Relaxed)).ticket()
}

fn some_member() -> MemberId {
    MemberId::from_bytes(*fresh().as_bytes())
}

/// Makes a ticket's record, as the store returns it.
fn record(ticket: Ticket, member: MemberId, units: u32) -> TicketRecord {
    TicketRecord {
        ticket,
        member,
        units,
        takes: false,
        since: 1,
        token: 1,
        meta: "site".into(),
        left: Duration::from_secs(1),
        parked: false,
        passed_over: false,
        kept: false,
    }
}
