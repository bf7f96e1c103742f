//! What a search asks for.

use std::time::Duration;

use super::probes::record;
use crate::base::name::Name;
use crate::config::Deadlock;
use crate::deadlock::graph::{Wait, WaitingHold};
use crate::deadlock::probe::{Answer, Probe};
use crate::deadlock::search::{Search, Todo};
use crate::store::{MemberId, NameRecord, RandomId, Ticket};

fn hold(ticket: Ticket, name: &Name, units: u32, after: Ticket) -> WaitingHold {
    let wait = Wait {
        id: Ticket::random(),
        name: name.clone(),
        units,
        after: Some(after),
        waited: Duration::from_secs(1),
        meta: "h 1 s".into(),
        mode: Deadlock::Report,
    };
    WaitingHold {
        ticket,
        token: 1,
        units: 1,
        held: Duration::from_secs(2),
        meta: "h 1 s".into(),
        waits: vec![wait],
    }
}

fn inspected(todos: &[Todo]) -> u32 {
    match todos {
        [Todo::Inspect { above, .. }] => *above,
        _ => panic!("{} questions", todos.len()),
    }
}

fn asked(todos: &[Todo]) -> Vec<Ticket> {
    match todos {
        [
            Todo::Send {
                probe: Probe::Ask { tickets, .. },
                ..
            },
        ] => tickets.clone(),
        _ => panic!("{} questions", todos.len()),
    }
}

/// The first wait for a name asks for all units, so other waiters don't matter. A later one asks for fewer.
#[test]
fn a_search_asks_for_the_waiters_once_they_matter() {
    let name = Name::from_escaped("n");
    let [root, holder, large, small] = [(); 4].map(|()| Ticket::random());
    let member = MemberId::random();
    let state = |waiters: &[Ticket]| NameRecord {
        capacity: Some(2),
        holders: vec![record(holder, member, 1)],
        waiters: waiters.iter().map(|it| record(*it, member, 2)).collect(),
        ..NameRecord::default()
    };
    let mut search = Search::new(1, None);
    let hold_of_root = hold(root, &name, 2, large);
    search.add(hold_of_root.waits[0].id, vec![hold_of_root]);
    assert_eq!(inspected(&search.take_todos()), 2);
    let todos = search.inspected((&name, 2), &state(&[]));
    assert_eq!(asked(&todos), [holder]);
    let answer = Answer {
        round: 1,
        holds: vec![hold(holder, &name, 1, small)],
        ..Answer::default()
    };
    assert_eq!(inspected(&search.answered(answer)), 1);
    assert!(!search.is_complete(), "the waiters are not known");
    let mut all = state(&[large]);
    all.waiters.push(record(small, member, 1));
    assert_eq!(asked(&search.inspected((&name, 1), &all)), [large]);
    let answer = Answer {
        round: 1,
        waiting: vec![large],
        ..Answer::default()
    };
    assert!(search.answered(answer).is_empty());
    assert!(search.is_complete());
}

/// Tasks of one client wait for one name, each inside its own lock.
#[test]
fn a_crowd_asks_each_question_once() {
    let (name, elsewhere) = (Name::from_escaped("n"), Ticket::random());
    let mut search = Search::new(0, None);
    for _ in 0..100 {
        let held = hold(Ticket::random(), &name, 1, Ticket::random());
        search.add(held.waits[0].id, vec![held]);
    }
    let above = inspected(&search.take_todos());
    assert_eq!(above, 1, "no waiter of a mutex is in the way of another");
    let record = NameRecord {
        capacity: Some(1),
        holders: vec![record(elsewhere, MemberId::random(), 1)],
        ..NameRecord::default()
    };
    let todos = search.inspected((&name, above), &record);
    assert_eq!(asked(&todos), [elsewhere]);
    let answer = Answer {
        free: vec![elsewhere],
        ..Answer::default()
    };
    assert!(search.answered(answer).is_empty() && search.is_complete());
}
