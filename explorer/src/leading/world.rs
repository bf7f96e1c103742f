//! [`World`]: clients and a store, with a process on each client.

use auto_mutex_protocol::NameRecord;

use super::rules::{Faults, Setup};
use super::seat::{Seat, Stage};
use crate::name::properties::CALLS;
use crate::name::world::{self, Member};

/// One state of everything.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    /// The clients, the store, and what is between them.
    pub network: world::World,
    /// The processes.
    pub seats: Vec<Seat>,
    /// What may still happen to the processes; the rest is in `network`.
    pub left: Faults,
    /// Facts about the past that the properties need.
    pub past: Past,
}

/// What no process knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Past {
    /// The seat that the store has last granted the lock to.
    pub newest: Option<u8>,
    /// The lock left a process whose body had not ended and did not hang.
    pub left_a_body: bool,
    /// A seat led again before another that had waited since before its last term ended.
    pub jumped: bool,
    /// An error that a body returned after it was told ended the lead.
    pub lost_error_ended: bool,
    /// A body that ends in time was an overrun.
    pub overran_in_time: bool,
}

impl World {
    /// No seat stands yet.
    pub fn new(rules: &Setup) -> Self {
        Self {
            network: world::World::new(&rules.network),
            seats: (0..rules.seats).map(|_| Seat::new()).collect(),
            left: rules.faults,
            past: Past::default(),
        }
    }

    /// The process and its client.
    pub fn seat(&self, me: u8) -> (&Seat, &Member) {
        let index = usize::from(me);
        (&self.seats[index], &self.network.members[index])
    }

    /// The processes and their clients.
    pub fn all(&self) -> impl Iterator<Item = (&Seat, &Member)> {
        self.seats.iter().zip(&self.network.members)
    }

    /// Whether the process runs.
    pub fn is_up(&self, me: u8) -> bool {
        let (seat, member) = self.seat(me);
        !seat.suspended && !member.dead
    }

    /// What the store says about the lock.
    pub fn record(&self, rules: &Setup) -> NameRecord {
        self.network.store.record(&rules.network.limits)
    }

    /// Brings the world into its canonical form.
    pub(super) fn canonical(&mut self, rules: &Setup) {
        for (seat, member) in self.seats.iter_mut().zip(&self.network.members) {
            seat.canonical(member.now, rules);
        }
        if let Some(newest) = self.past.newest {
            let (seat, member) = self.seat(newest);
            let waits = matches!(seat.stage, Stage::Away(_) | Stage::Ended);
            if waits && member.state.is_idle() {
                self.past.newest = None;
            }
        }
        // The properties of the network have their own runs.
        let past = &mut self.network.past;
        past.broken.retain(|property| *property == CALLS);
        *past = world::Past {
            token: past.token,
            entered: past.entered,
            broken: core::mem::take(&mut past.broken),
            ..world::Past::default()
        };
        self.network.canonical(&rules.network);
    }

    /// Notes who has lost the lock in the store, and who has got it.
    pub(super) fn note_holders(&mut self, before: &NameRecord, hung: bool, rules: &Setup) {
        let after = self.record(rules);
        let holder = |record: &NameRecord| {
            let first = record.holders.first();
            first.map(|it| (it.ticket, Member::number(it.member)))
        };
        let (old, new) = (holder(before), holder(&after));
        // A seat that no longer waits need not lead first.
        let waiting = self.waiting(rules);
        for seat in &mut self.seats {
            seat.behind &= waiting;
        }
        if old == new {
            return;
        }
        if let Some((_, from)) = old {
            self.past.left_a_body |= self.seat(from).0.has_body() && !hung;
        }
        if let Some((_, to)) = new {
            let seat = &mut self.seats[usize::from(to)];
            self.past.jumped |= seat.behind != 0;
            seat.behind = 0;
            self.past.newest = Some(to);
        }
    }

    /// The seats, as bits, that wait in the store and claim what they are granted.
    pub(super) fn waiting(&self, rules: &Setup) -> u8 {
        let waiters = self.record(rules).waiters;
        let waiters = waiters.iter().filter(|waiter| !waiter.passed_over);
        waiters.fold(0, |all, it| all | 1 << Member::number(it.member))
    }
}
