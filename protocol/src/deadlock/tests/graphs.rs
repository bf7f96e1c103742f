//! Single cases of waits that never end.

use std::time::Duration;

use super::{record, some_member};
use crate::deadlock::graph::Graph;
use crate::deadlock::{Wait, WaitingHold};
use crate::{Dice, MemberId, NameRecord, Ticket};

/// A graph and its names. Small numbers stand for names, tickets and waits.
struct World {
    graph: Graph<usize>,
    names: Vec<NameRecord>,
    member: MemberId,
}

fn id(number: u64) -> Ticket {
    Dice(number).ticket()
}

fn wait(number: u64, on: usize, units: u32, after: Option<u64>) -> Wait<usize> {
    Wait {
        id: id(1000 + number),
        name: on,
        units,
        after: after.map(id),
        waited: Duration::from_secs(1),
        meta: "h 1 s".into(),
        fails: false,
    }
}

impl World {
    /// Returns a world with one name for each capacity.
    fn new(capacities: &[u32]) -> Self {
        let of = |capacity: &u32| NameRecord {
            capacity: Some(*capacity),
            ..NameRecord::default()
        };
        Self {
            graph: Graph::default(),
            names: capacities.iter().map(of).collect(),
            member: some_member(),
        }
    }

    fn holds(mut self, ticket: u64, on: usize, units: u32) -> Self {
        self.names[on]
            .holders
            .push(record(id(ticket), self.member, units));
        self
    }

    fn queues(mut self, ticket: u64, on: usize, units: u32) -> Self {
        self.names[on]
            .waiters
            .push(record(id(ticket), self.member, units));
        self
    }

    /// Adds a hold of `units` units with `ticket`, whose task has the waits `waits`.
    fn waits(mut self, ticket: u64, units: u32, waits: &[Wait<usize>]) -> Self {
        let hold = WaitingHold {
            ticket: id(ticket),
            token: ticket,
            units,
            held: Duration::from_secs(2),
            meta: "h 1 s".into(),
            waits: waits.to_vec(),
        };
        self.graph.holds.insert(hold.ticket, hold);
        self
    }

    fn confirmed(mut self, ticket: u64) -> Self {
        self.graph.confirmed.insert(id(ticket));
        self
    }

    fn graph(mut self) -> Graph<usize> {
        for (number, record) in self.names.into_iter().enumerate() {
            self.graph.add_name(&number, record);
        }
        self.graph
    }

    /// Returns the tickets of the cycle that contains the wait `root`, and the chosen ticket.
    fn cycle(self, root: u64) -> Option<(Vec<u64>, u64)> {
        tickets(&self.graph(), root)
    }
}

fn tickets(graph: &Graph<usize>, root: u64) -> Option<(Vec<u64>, u64)> {
    let cycle = graph.cycle(id(1000 + root), &graph.blocked())?;
    let tokens = cycle.steps.iter().map(|step| step.hold.token).collect();
    Some((tokens, cycle.chosen.hold.token))
}

fn crossed() -> World {
    World::new(&[1, 1])
        .holds(1, 0, 1)
        .holds(2, 1, 1)
        .queues(11, 1, 1)
        .queues(12, 0, 1)
        .waits(1, 1, &[wait(1, 1, 1, Some(11))])
        .waits(2, 1, &[wait(2, 0, 1, Some(12))])
}

#[test]
fn two_mutexes_in_opposite_order() {
    assert_eq!(
        crossed().cycle(1),
        Some((vec![1, 2], 2)),
        "the younger hold is chosen"
    );
    assert_eq!(crossed().cycle(2), Some((vec![2, 1], 2)), "by everybody");
}

#[test]
fn a_chain_is_no_cycle() {
    let chain = || {
        World::new(&[1, 1, 1])
            .holds(1, 0, 1)
            .holds(2, 1, 1)
            .holds(3, 2, 1)
            .waits(1, 1, &[wait(1, 1, 1, None)])
            .waits(2, 1, &[wait(2, 2, 1, None)])
    };
    assert_eq!(chain().cycle(1), None);
    let closed = |token| chain().waits(3, 1, &[wait(3, 0, 1, None)]).cycle(token);
    assert_eq!(closed(2), Some((vec![2, 3, 1], 3)));
}

#[test]
fn who_only_waits_behind_a_cycle_reports_nothing() {
    let behind = |units| {
        let mut world = crossed().holds(3, 1, units);
        world.names.push(NameRecord::default());
        world.waits(3, units, &[wait(3, 0, 1, None)])
    };
    assert_eq!(
        behind(0).cycle(3),
        None,
        "it holds a signal, which nobody waits for"
    );
    let graph = crossed().waits(3, 1, &[wait(3, 0, 1, None)]).graph();
    assert_eq!(tickets(&graph, 3), None, "nobody waits for its lock");
}

#[test]
fn another_permit_may_come_back() {
    let world = |capacity| {
        World::new(&[capacity, 1])
            .holds(1, 0, 1)
            .holds(2, 1, 1)
            .waits(1, 1, &[wait(1, 1, 1, None)])
            .waits(2, 1, &[wait(2, 0, 1, None)])
    };
    assert!(world(1).cycle(1).is_some());
    assert_eq!(
        world(2).holds(3, 0, 1).cycle(1),
        None,
        "3 holds the other permit, and runs"
    );
    let stuck = world(2).holds(3, 0, 1).waits(3, 1, &[wait(3, 1, 1, None)]);
    assert_eq!(
        stuck.cycle(1),
        Some((vec![1, 2], 3)),
        "all permits are stuck"
    );
}

#[test]
fn a_writer_behind_a_reader_that_waits_for_the_writers_other_lock() {
    // Task 1 reads name 0 and waits for name 1. A writer waits for name 0. Task 2 holds name 1 and waits to read name
    // 0, behind the writer.
    let world = || {
        World::new(&[100, 1])
            .holds(1, 0, 1)
            .holds(2, 1, 1)
            .queues(20, 0, 100)
            .queues(21, 0, 1)
            .waits(1, 1, &[wait(1, 1, 1, None)])
            .waits(2, 1, &[wait(2, 0, 1, Some(21))])
    };
    assert_eq!(world().confirmed(20).cycle(2), Some((vec![2, 1], 2)));
    assert_eq!(
        world().cycle(2),
        None,
        "a writer that is gone holds up nobody"
    );
}

#[test]
fn who_may_overtake_is_not_held_up() {
    let world = World::new(&[100, 1])
        .holds(1, 0, 1)
        .holds(2, 1, 1)
        .queues(20, 0, 100)
        .confirmed(20)
        .waits(1, 1, &[wait(1, 1, 1, None)])
        .waits(2, 1, &[wait(2, 0, 1, None)]);
    assert_eq!(world.cycle(2), None, "the place of 2 is not known");
}

#[test]
fn a_task_with_two_branches_is_stuck_if_both_are() {
    let world = World::new(&[1, 1, 1])
        .holds(1, 0, 1)
        .holds(2, 1, 1)
        .holds(3, 2, 1)
        .waits(1, 1, &[wait(1, 1, 1, None), wait(4, 2, 1, None)])
        .waits(2, 1, &[wait(2, 0, 1, None)]);
    assert_eq!(
        world.cycle(1),
        None,
        "3 runs, and may release what the other branch waits for"
    );
    let both = || {
        let branches = [wait(1, 1, 1, None), wait(4, 1, 1, None)];
        crossed().waits(1, 1, &branches)
    };
    for root in [1, 4] {
        assert_eq!(both().cycle(root), Some((vec![1, 2], 2)));
    }
}

#[test]
fn a_parked_ticket_and_one_that_no_call_uses_end_by_themselves() {
    let mut world = crossed();
    world.names[1].holders[0].parked = true;
    assert_eq!(world.cycle(1), None);
    let mut world = crossed();
    world.names[1].holders[0].kept = true;
    assert_eq!(world.cycle(1), None);
}

#[test]
fn only_what_both_passes_have_found_counts() {
    let (first, second) = (crossed().graph(), crossed().graph());
    assert!(tickets(&second.and(&first), 1).is_some());
    // The ticket holds again, with another token.
    let other = {
        let mut world = crossed();
        let hold = WaitingHold {
            ticket: id(2),
            token: 99,
            units: 1,
            held: Duration::ZERO,
            meta: "h 1 s".into(),
            waits: vec![wait(2, 0, 1, None)],
        };
        world.graph.holds.insert(hold.ticket, hold);
        world.graph()
    };
    assert_eq!(tickets(&other.and(&first), 1), None);
    // The second task has another wait.
    let other = crossed().waits(2, 1, &[wait(3, 0, 1, None)]).graph();
    assert_eq!(tickets(&other.and(&first), 1), None);
    // The holder has another ticket.
    let mut other = crossed();
    other.names[1].holders[0].ticket = id(77);
    assert_eq!(tickets(&other.graph().and(&first), 1), None);
    assert_eq!(tickets(&Graph::default().and(&first), 1), None);
}

#[test]
fn a_call_that_may_fail_is_chosen_before_others() {
    let fails = Wait {
        fails: true,
        ..wait(1, 1, 1, None)
    };
    let world = crossed().waits(1, 1, &[fails]);
    assert_eq!(world.cycle(2), Some((vec![2, 1], 1)));
}

#[test]
fn nothing_is_known_of_an_unknown_wait() {
    assert_eq!(crossed().cycle(9), None);
}
