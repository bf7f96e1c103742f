//! The kind of lock under test, and the fate of its signals.

use std::collections::HashSet;
use std::sync::Arc;

use super::world::World;
use crate::base::error::kind::RW_LOCK;
use crate::base::wait::DeferredWakes;
use crate::queue::{Answered, Hold};
use crate::store::memory::state::State;
use crate::store::{Lease, MemberId, Mode, Op, Reply, Share, Signal, Ticket};

/// The kind of lock that the name has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Mutex,
    /// A semaphore with this number of permits.
    Semaphore(u32),
    /// A readers-writer lock with this number of units for a writer.
    ReadersWriter(u32),
}

impl Shape {
    pub(super) fn of(seed: u64) -> Self {
        match seed % 4 {
            0 | 1 => Self::Mutex,
            2 => Self::Semaphore((seed / 4 % 4) as u32),
            _ => Self::ReadersWriter(RW_LOCK),
        }
    }

    pub(super) fn capacity(self) -> u32 {
        match self {
            Self::Mutex => 1,
            Self::Semaphore(units) | Self::ReadersWriter(units) => units,
        }
    }
}

/// The signals that were added, and what happened to each.
#[derive(Debug, Default)]
pub(super) struct Signals {
    last: u32,
    asked: Vec<(Arc<str>, Answered)>,
    sent: HashSet<Arc<str>>,
    consumed: Vec<Arc<str>>,
}

impl World {
    pub(super) fn share(&mut self) -> Share {
        let capacity = self.shape.capacity();
        match self.shape {
            Shape::Mutex => Share::of(1, 1),
            Shape::Semaphore(permits) => {
                let units = self.dice.roll(permits.max(1) as usize) as u32 + 1;
                Share::permits(units, capacity)
            }
            Shape::ReadersWriter(all) => {
                Share::of(if self.dice.chance(40) { all } else { 1 }, capacity)
            }
        }
    }

    /// Adds a signal, if the name is a semaphore.
    pub(super) fn signal(&mut self, index: usize) {
        if !matches!(self.shape, Shape::Semaphore(_)) {
            return;
        }
        self.signals.last += 1;
        let text: Arc<str> = format!("s{}", self.signals.last).into();
        self.note(format!("{index} signals {text}"));
        let op = Op::Signal {
            ticket: Ticket::random(),
            signal: Signal::Token(text.clone()),
        };
        let member = &self.nodes[index].member;
        let asked = member.with_queue(&self.name, |local| local.query(&op));
        self.signals.asked.push((text, asked.unwrap()));
    }

    /// Records that `hold`, which is being released, has used its signal, if it has one.
    pub(super) fn consume(&mut self, hold: &Hold) {
        self.signals.consumed.extend(hold.grant.signal.clone());
    }

    /// Downgrades `hold` to a reader if it is a writer.
    pub(super) fn downgrade(&mut self, index: usize, hold: &Arc<Hold>) {
        if matches!(self.shape, Shape::ReadersWriter(all) if hold.units() == all) {
            self.note(format!("{index} downgrades {}", hold.grant.token));
            let renewal = hold.downgrade(1);
            self.nodes[index].renewals.extend(renewal);
        }
    }

    /// Checks that the valid holds fit into the capacity, and that no two holds have the same signal.
    pub(super) fn check_holds(&self, valid: &[(usize, Arc<Hold>)]) {
        let taken: u32 = valid.iter().map(|(_, hold)| hold.weight()).sum();
        assert!(taken <= self.shape.capacity(), "too many hold: {valid:?}");
        let mut signals = HashSet::new();
        let held = valid
            .iter()
            .filter_map(|(_, hold)| hold.grant.signal.clone());
        for signal in held {
            assert!(signals.insert(signal), "a signal in two hands: {valid:?}");
        }
    }

    /// Checks that every signal was taken or is still available, and, without faults, that none was taken twice.
    pub(super) fn check_signals(&mut self, micros: u64) {
        for (text, asked) in std::mem::take(&mut self.signals.asked) {
            match asked.close(&mut DeferredWakes::default()) {
                Some(Ok(_)) => assert!(self.signals.sent.insert(text)),
                Some(Err(error)) => assert!(!self.calm, "{error}"),
                // The process crashed.
                None => assert!(self.nodes.iter().any(|node| node.crashed)),
            }
        }
        let left = drain(&mut self.state, micros);
        let found: Vec<_> = self.signals.consumed.iter().chain(&left).collect();
        let unique: HashSet<_> = found.iter().map(|text| (*text).clone()).collect();
        for text in &self.signals.sent {
            assert!(unique.contains(text), "the signal {text} is lost");
        }
        if self.calm {
            assert_eq!(found.len(), self.signals.sent.len(), "a signal came twice");
        }
    }
}

/// Takes the remaining signals.
fn drain(state: &mut State, micros: u64) -> Vec<Arc<str>> {
    let member = MemberId::random();
    let mut left = Vec::new();
    loop {
        let ticket = Ticket::random();
        let second = std::time::Duration::from_secs(1);
        let acquire = Op::Acquire {
            lease: Lease::of(ticket, 1, second),
            share: Share::NOTIFICATION,
            mode: Mode::Try,
            meta: "h 1 s".into(),
        };
        let mut publish = |_, _| true;
        let granted = state.apply(micros, 0, member, &acquire, &mut publish);
        let Reply::Granted { signal, token } = granted else {
            return left;
        };
        left.extend(signal);
        let release = Op::Release {
            ticket,
            park: std::time::Duration::ZERO,
            tomb: false,
            used: token,
        };
        state.apply(micros, 0, member, &release, &mut publish);
    }
}
