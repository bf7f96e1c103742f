//! Waits of tasks that hold other locks: which messages the search for deadlocks sends, when, and what it answers about
//! a ticket that serves several waiters in turn.

use std::sync::Arc;
use std::time::Duration;

use super::{Rig, grant, granted, poll};
use crate::base::error::LockError;
use crate::base::name::Name;
use crate::config::{Config, Deadlock};
use crate::deadlock::{Answer, Probe};
use crate::queue::{Hold, Want};
use crate::store::{
    Events, MemberId, Message, NameRecord, Op, Reply, Request, Ticket, TicketRecord,
};

const AFTER: Duration = Duration::from_secs(1);

fn rig(deadlock: Deadlock) -> Rig {
    let config = Config::new("memory://").unwrap().slow("0s");
    Rig::with(config.store_timeout("3000s").deadlock(deadlock))
}

/// Takes another name.
fn outer(rig: &Rig) -> Arc<Hold> {
    let name = Name::from_escaped("queue:outer");
    let entered = rig
        .member
        .with_queue(&name, |local| local.enter(&Rig::want()));
    let mut acquire = Box::pin(entered.unwrap().unwrap());
    rig.answer(rig.next(), granted());
    poll(&mut acquire).unwrap().unwrap()
}

fn within(hold: &Arc<Hold>) -> Want {
    let mut want = Rig::want();
    want.by.holds = Some(Arc::new(vec![hold.clone()]));
    want
}

fn queued() -> Reply {
    Reply::Queued {
        position: 1,
        again: Duration::from_secs(3000),
        holder: None,
    }
}

fn record(ticket: Ticket, member: MemberId) -> TicketRecord {
    TicketRecord {
        ticket,
        member,
        units: 1,
        takes: false,
        since: 1,
        token: 1,
        meta: "other 8 s%20at%20b.rs:9".into(),
        left: AFTER,
        parked: false,
        passed_over: false,
        kept: false,
    }
}

fn state(holder: TicketRecord, waiter: TicketRecord) -> Reply {
    Reply::Info(NameRecord {
        capacity: Some(1),
        holders: vec![holder],
        waiters: vec![waiter],
        ..NameRecord::default()
    })
}

/// Takes all submitted requests, and returns those of a search.
fn searching(rig: &Rig) -> Vec<Request> {
    let all = std::mem::take(&mut *crate::base::wait::lock(&rig.wire.0));
    let of_search = |request: &Request| matches!(request.op, Op::Inspect { .. } | Op::Probe { .. });
    all.into_iter().filter(of_search).collect()
}

/// Returns the only request.
fn only(mut requests: Vec<Request>) -> Request {
    let request = requests.pop().expect("a request");
    assert!(requests.is_empty(), "{requests:?}");
    request
}

fn probe(request: &Request) -> (MemberId, Probe) {
    let Op::Probe { to, text } = &request.op else {
        panic!("{request:?}");
    };
    (*to, Probe::read(text).unwrap())
}

#[test]
fn a_short_wait_sends_nothing_more() {
    for (deadlock, nested) in [
        (Deadlock::Report, false),
        (Deadlock::Off, true),
        (Deadlock::Report, true),
    ] {
        let mut rig = rig(deadlock);
        let hold = outer(&rig);
        let want = if nested { within(&hold) } else { Rig::want() };
        let waits = rig.enter(&want);
        rig.answer(rig.next(), queued());
        rig.run(AFTER - Duration::from_millis(100));
        assert!(searching(&rig).is_empty(), "{deadlock:?} {nested}");
        rig.run(AFTER / 5);
        let searches = nested && deadlock == Deadlock::Report;
        assert_eq!(
            searching(&rig).len(),
            usize::from(searches),
            "{deadlock:?} {nested}"
        );
        drop(waits);
    }
}

#[test]
fn without_answers_it_searches_on_but_ever_more_rarely() {
    let mut rig = rig(Deadlock::Report);
    let hold = outer(&rig);
    let _waits = rig.enter(&within(&hold));
    rig.answer(rig.next(), queued());
    rig.run(Duration::from_secs(10));
    let first = searching(&rig).len();
    assert!(first >= 4, "{first}");
    rig.run(Duration::from_secs(100));
    let then = searching(&rig).len();
    assert!(then < first, "{then} after {first}");
}

/// The wait ends with an error that shows the whole cycle. Its ticket is released, and the outer hold stays.
#[test]
fn a_deadlock_with_another_member_fails_the_younger() {
    let mut rig = rig(Deadlock::Fail);
    let hold = outer(&rig);
    let mut waits = rig.enter(&within(&hold));
    let (asked, own, _) = rig.asked();
    let name = asked.name.clone();
    rig.answer(asked, queued());
    let (other, theirs, behind) = (MemberId::random(), Ticket::random(), Ticket::random());
    rig.run(AFTER);
    let mine = MemberId::random();
    for round in 0..2 {
        let inspect = only(searching(&rig));
        assert!(
            matches!(inspect.op, Op::Inspect { .. }) && inspect.name == name,
            "{inspect:?}"
        );
        rig.answer(inspect, state(record(theirs, other), record(own, mine)));
        let ask = only(searching(&rig));
        let (
            to,
            Probe::Ask {
                round: number,
                tickets,
            },
        ) = probe(&ask)
        else {
            panic!("{ask:?}");
        };
        assert_eq!((to, &*tickets, &ask.name), (other, &[theirs][..], &name));
        assert!(poll(&mut waits).is_none(), "round {round}");
        let answer = Answer {
            round: number,
            holds: vec![crate::deadlock::WaitingHold {
                ticket: theirs,
                token: 5,
                units: 1,
                held: AFTER,
                meta: "other 8 s%20at%20b.rs:9".into(),
                waits: vec![crate::deadlock::Wait {
                    id: behind,
                    name: Name::from_escaped("queue:outer"),
                    units: 1,
                    after: Some(behind),
                    waited: AFTER,
                    meta: "other 8 s%20at%20b.rs:10".into(),
                    mode: Deadlock::Fail,
                }],
            }],
            ..Answer::default()
        };
        // Answers may arrive twice, and those of earlier rounds may arrive late.
        let text = Probe::Answer(answer.clone()).text();
        let late = Probe::Answer(Answer {
            round: number.wrapping_sub(1),
            ..answer
        });
        for text in [late.text(), text.clone(), text] {
            let message = Message::Probe {
                from: other,
                text: text.into(),
            };
            rig.member.told(&name, message);
        }
        let inspect = only(searching(&rig));
        let reply = state(record(hold.grant.ticket, mine), record(behind, other));
        assert!(inspect.name == *hold.name(), "{inspect:?}");
        rig.answer(inspect, reply);
    }
    let Some(Err(LockError::Deadlock { cycle, .. })) = poll(&mut waits) else {
        panic!("it still waits");
    };
    let hops: Vec<_> = cycle
        .iter()
        .map(|hop| (&*hop.holds, &*hop.waits_for))
        .collect();
    assert_eq!(
        hops,
        [("queue:outer", "queue:name"), ("queue:name", "queue:outer")]
    );
    let holder = cycle[1].holder.as_ref().unwrap();
    assert_eq!(
        (&*holder.host, holder.pid, holder.line()),
        ("other", 8, Some(9))
    );
    assert!(
        cycle[1].waits_at.ends_with("b.rs:10"),
        "{}",
        cycle[1].waits_at
    );
    assert!(hold.is_valid());
    let left = rig.next();
    assert!(
        matches!(left.op, Op::Release { ticket, .. } if ticket == own),
        "{left:?}"
    );
}

/// Returns the answer to another member's question about the outer hold.
fn asked_about(rig: &Rig, hold: &Arc<Hold>, round: u64) -> Answer {
    let ask = Probe::Ask {
        round,
        tickets: vec![hold.grant.ticket],
    };
    let message = Message::Probe {
        from: MemberId::random(),
        text: ask.text().into(),
    };
    rig.member.told(hold.name(), message);
    match probe(&only(searching(rig))).1 {
        Probe::Answer(answer) => answer,
        other => panic!("{other:?}"),
    }
}

#[test]
fn one_waiter_after_another_has_its_own_wait() {
    let rig = rig(Deadlock::Report);
    let hold = outer(&rig);
    let free = asked_about(&rig, &hold, 1);
    assert_eq!(free.free, [hold.grant.ticket], "its task waits for nothing");
    let first = rig.enter(&within(&hold));
    let (asked, ticket, counter) = rig.asked();
    rig.answer(asked, queued());
    let second = rig.enter(&within(&hold));
    let answer = asked_about(&rig, &hold, 2);
    let waits = &answer.holds[0].waits;
    // Two branches of the task wait. The second branch has no ticket of its own, and waits behind the first.
    assert_eq!(waits.len(), 2);
    assert!(
        waits.iter().all(|wait| wait.after == Some(ticket)),
        "{waits:?}"
    );
    assert_ne!(waits[0].id, waits[1].id);
    drop(first);
    let rest = asked_about(&rig, &hold, 3);
    assert_eq!(
        rest.holds[0].waits.len(),
        1,
        "the ticket waits on, for the second"
    );
    assert!(
        waits
            .iter()
            .any(|wait| wait.id == rest.holds[0].waits[0].id)
    );
    rig.member.told(
        &Name::from_escaped("queue:name"),
        grant(ticket, counter, AFTER),
    );
    let answer = asked_about(&rig, &hold, 4);
    assert_eq!(answer.free.len(), 1, "granted");
    drop(second);
}

#[test]
fn a_question_that_comes_twice_is_answered_once() {
    let rig = rig(Deadlock::Report);
    let hold = outer(&rig);
    let from = MemberId::random();
    let tickets = vec![hold.grant.ticket];
    for (round, answers) in [(1, 1), (1, 0), (2, 1)] {
        let tickets = tickets.clone();
        let text = Probe::Ask { round, tickets }.text().into();
        rig.member.told(hold.name(), Message::Probe { from, text });
        assert_eq!(searching(&rig).len(), answers, "round {round}");
    }
    // A round asks again if it needs to know more about the same name.
    let tickets = vec![Ticket::random()];
    let text = Probe::Ask { round: 2, tickets }.text().into();
    rig.member.told(hold.name(), Message::Probe { from, text });
    assert_eq!(searching(&rig).len(), 1);
    for text in ["", "nonsense", "answer 7", "search x"] {
        let text = text.into();
        rig.member.told(hold.name(), Message::Probe { from, text });
    }
    assert!(searching(&rig).is_empty());
}
