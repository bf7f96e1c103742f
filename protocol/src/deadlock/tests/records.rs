//! The records of the store show the deadlocks that the search finds by asking the clients, and no others.

use std::time::Duration;

use super::record;
use crate::deadlock::graph::Graph;
use crate::deadlock::{Records, Wait, WaitingHold};
use crate::{Dice, MemberId, NameRecord, SharedStr, Ticket, TicketRecord};

const NAMES: usize = 5;

/// The description of a waiter whose task holds these names.
fn listing(names: &[usize]) -> SharedStr {
    let names: Vec<_> = names.iter().map(ToString::to_string).collect();
    names.join(" ").into()
}

fn listed(meta: &str) -> Vec<usize> {
    meta.split(' ')
        .filter_map(|name| name.parse().ok())
        .collect()
}

/// The records of random tasks, and the graph that the search would build from the answers of their clients.
struct World {
    names: Vec<(usize, NameRecord)>,
    asked: Graph<usize>,
}

impl World {
    /// `together`: how many tasks each client has.
    fn random(dice: &mut Dice, together: usize) -> Self {
        let names = (0..NAMES).map(|number| {
            let record = NameRecord {
                capacity: Some(dice.of(&[1, 1, 2, 1 << 30])),
                ..NameRecord::default()
            };
            (number, record)
        });
        let mut world = Self {
            names: names.collect(),
            asked: Graph::default(),
        };
        let members: Vec<_> = (0..4).map(|_| dice.member()).collect();
        let tasks: Vec<_> = (0..members.len() * together)
            .map(|task| (members[task % members.len()], dice.ticket()))
            .collect();
        let mut held = Vec::new();
        for (member, _) in &tasks {
            let count = dice.roll(3);
            held.push(
                (0..count)
                    .filter_map(|_| world.take(dice, *member))
                    .collect::<Vec<_>>(),
            );
        }
        for ((member, ticket), held) in tasks.into_iter().zip(held) {
            world.wait(dice, member, ticket, &held);
        }
        for (name, record) in &world.names {
            world.asked.add_name(name, record.clone());
        }
        world
    }

    fn units(&self, dice: &mut Dice, name: usize) -> u32 {
        let capacity = self.names[name].1.capacity.unwrap();
        dice.of(&[1, capacity])
    }

    /// Takes one of the names, if units are left.
    fn take(&mut self, dice: &mut Dice, member: MemberId) -> Option<(usize, Ticket)> {
        let (name, ticket) = (dice.roll(NAMES), dice.ticket());
        let units = self.units(dice, name);
        let record = &mut self.names[name].1;
        let used: u32 = record.holders.iter().map(|holder| holder.units).sum();
        if used + units > record.capacity?
            || record.holders.iter().any(|holder| holder.member == member)
        {
            return None;
        }
        record.holders.push(self::record(ticket, member, units));
        Some((name, ticket))
    }

    /// Makes a task wait for a name that it doesn't hold. Every member has at most one waiter for each name.
    fn wait(&mut self, dice: &mut Dice, member: MemberId, id: Ticket, held: &[(usize, Ticket)]) {
        let on = dice.roll(NAMES);
        let units = self.units(dice, on);
        let (name, record) = &mut self.names[on];
        let own = |other: &TicketRecord| other.member == member;
        if held.is_empty()
            || held.iter().any(|(name, _)| *name == on)
            || record.waiters.iter().any(own)
        {
            return;
        }
        let names: Vec<_> = held.iter().map(|(name, _)| *name).collect();
        record.waiters.push(TicketRecord {
            meta: listing(&names),
            ..self::record(id, member, units)
        });
        let wait = Wait {
            id,
            name: *name,
            units,
            after: Some(id),
            waited: Duration::ZERO,
            meta: "h 1 s".into(),
            fails: false,
        };
        self.asked.confirmed.insert(id);
        for (name, ticket) in held {
            let holders = &self.names[*name].1.holders;
            let holder = holders
                .iter()
                .find(|holder| holder.ticket == *ticket)
                .unwrap();
            let hold = WaitingHold {
                ticket: *ticket,
                token: holder.token,
                units: holder.units,
                held: Duration::ZERO,
                meta: "h 1 s".into(),
                waits: vec![wait.clone()],
            };
            self.asked.holds.insert(*ticket, hold);
        }
    }

    fn records(&self) -> Records<usize> {
        Records::new(
            self.names.iter().map(|(name, record)| (name, record)),
            listed,
        )
    }

    /// The search finds a deadlock around one of its waits.
    fn is_deadlocked(&self) -> bool {
        let blocked = self.asked.blocked();
        let waits = self.names.iter().flat_map(|(_, record)| &record.waiters);
        let mut waits = waits.map(|waiter| waiter.ticket);
        waits.any(|wait| self.asked.cycle(wait, &blocked).is_some())
    }
}

#[test]
fn what_the_search_finds_is_certain_and_nothing_else() {
    let mut found = 0;
    for seed in 0..3000 {
        let mut dice = Dice(seed);
        let together = dice.of(&[1, 2]);
        let world = World::random(&mut dice, together);
        let records = world.records();
        let cycles = records.cycles(false);
        assert_eq!(!cycles.is_empty(), world.is_deadlocked(), "seed {seed}");
        let blocked = world.asked.blocked();
        for (_, hold, _) in cycles.iter().flatten() {
            assert!(
                blocked.contains(hold) && records.is_certain(*hold),
                "seed {seed}"
            );
        }
        found += usize::from(!cycles.is_empty());
        // What has changed since isn't confirmed.
        let later = Records::new([], listed).and(&records);
        assert!(later.cycles(false).is_empty() && later.cycles(true).is_empty());
    }
    assert!(found > 100, "{found} of the worlds have a deadlock");
}

/// A client with two holds of one name: the record doesn't show which of them the waiting task has.
#[test]
fn one_of_two_holds_of_a_client_is_only_possible() {
    let mut dice = Dice(1);
    let [a, b] = [dice.member(), dice.member()];
    let [s, m] = [0, 1];
    let waiter = |dice: &mut Dice, member, held| TicketRecord {
        meta: listing(&[held]),
        ..record(dice.ticket(), member, 2)
    };
    let semaphore = NameRecord {
        capacity: Some(2),
        holders: [a, a].map(|member| record(dice.ticket(), member, 1)).into(),
        waiters: vec![waiter(&mut dice, b, m)],
        ..NameRecord::default()
    };
    let mutex = NameRecord {
        capacity: Some(1),
        holders: vec![record(dice.ticket(), b, 1)],
        waiters: vec![TicketRecord {
            units: 1,
            ..waiter(&mut dice, a, s)
        }],
        ..NameRecord::default()
    };
    let records = Records::new([(&s, &semaphore), (&m, &mutex)], listed);
    assert!(records.cycles(false).is_empty());
    assert_eq!(records.cycles(true).len(), 1);
}

/// Judging them takes no longer than a look at a store may take.
#[test]
fn thousands_of_waits_are_judged() {
    let mut dice = Dice(2);
    let members: Vec<_> = (0..20).map(|_| dice.member()).collect();
    let names: Vec<_> = (0..2000).collect();
    let records = (0..names.len()).map(|number| {
        let [holder, waiter] = [number, number + 1].map(|number| members[number % members.len()]);
        NameRecord {
            capacity: Some(1),
            holders: vec![record(dice.ticket(), holder, 1)],
            waiters: vec![record(dice.ticket(), waiter, 1)],
            ..NameRecord::default()
        }
    });
    let records: Vec<_> = records.collect();
    let records = Records::new(names.iter().zip(&records), listed);
    assert!(records.cycles(false).is_empty());
    assert!(!records.cycles(true).is_empty());
}
