//! Waits of tasks that hold other locks: which messages the search for deadlocks sends, when, and what it answers about
//! a ticket that serves several waiters in turn.

use std::sync::Arc;
use std::time::Duration;

use super::{Rig, grant, granted, poll, somebody};
use crate::base::error::{DeadlockHop, LockError};
use crate::base::name::Name;
use crate::config::{Config, Deadlock};
use crate::deadlock::{Answer, Probe};
use crate::locks::client::Client;
use crate::locks::mutex::MutexGuard;
use crate::queue::{Hold, Requester, Want};
use crate::store::{Events, MemberId, Message, Op, RandomId, Reply, Request, Ticket, seal};
use crate::test_kit::{self, Runs};

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
        .with_queue(&name, |local| local.enter(&Rig::want(), &somebody()));
    let mut acquire = Box::pin(entered.unwrap().unwrap());
    rig.answer(rig.next(), granted());
    poll(&mut acquire).unwrap().unwrap()
}

fn within(hold: &Arc<Hold>) -> (Want, Requester) {
    let mut by = somebody();
    by.holds = Some(Arc::new(vec![hold.clone()]));
    (Rig::want(), by)
}

fn queued() -> Reply {
    Reply::Queued {
        position: 1,
        again: Duration::from_secs(3000),
        holder: None,
    }
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

fn probe(request: &Request) -> Probe {
    let Op::Probe { text, .. } = &request.op else {
        panic!("{request:?}");
    };
    // After the seal.
    let (_, text) = text.split_once(' ').unwrap();
    Probe::read(text, Name::from_escaped).unwrap()
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
        let want = match nested {
            true => within(&hold),
            false => (Rig::want(), somebody()),
        };
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
    test_kit::run(Runs::new().seeds(10), |world| async move {
        let clients = ["a", "b"].map(|host| {
            let config = world.config(host).deadlock(Deadlock::Fail);
            Client::connect(config).unwrap()
        });
        let begun = world.now();
        let task = |client: &Client, names: [&'static str; 2], after: u32| {
            let [outer, inner] = names.map(|name| client.mutex(name));
            world.on(client, async move {
                tokio::time::sleep(after * AFTER / 2).await;
                let body = async |_: &MutexGuard| {
                    tokio::time::sleep(AFTER).await;
                    inner.lock().await.map(drop)
                };
                outer.synchronize(body).await.unwrap()
            })
        };
        let elder = task(&clients[0], ["x", "y"], 0);
        let younger = task(&clients[1], ["y", "x"], 1);
        let Err(LockError::Deadlock { cycle, .. }) = younger.await else {
            panic!("it has got both");
        };
        assert!(world.now() - begun < 5 * AFTER, "{:?}", world.now());
        let hop = |hop: &DeadlockHop| (hop.holds.to_string(), hop.waits_for.to_string());
        let hops: Vec<_> = cycle.iter().map(hop).collect();
        let expected = [("y", "x"), ("x", "y")];
        assert_eq!(hops, expected.map(|(one, two)| (one.into(), two.into())));
        let holder = cycle[1].holder.as_ref().unwrap();
        assert_eq!((&*holder.host, holder.pid), ("a", 1));
        assert!(
            cycle[1].waits_at.contains("nested.rs:"),
            "{}",
            cycle[1].waits_at
        );
        elder.await.unwrap();
        world.idle().await;
        world.assert_all_released();
    });
}

/// Another member, which has read the record of the hold, asks about these tickets.
fn ask(rig: &Rig, hold: &Hold, from: MemberId, pass: u64, tickets: Vec<Ticket>) {
    let text = Probe::Ask { pass, tickets }.text();
    let text = seal::letter(from, hold.name(), hold.grant.ticket, &text).into();
    rig.member.told(hold.name(), Message::Probe { from, text });
}

/// Returns the answer to another member's question about the outer hold.
fn asked_about(rig: &Rig, hold: &Arc<Hold>, pass: u64) -> Answer {
    ask(rig, hold, MemberId::random(), pass, vec![hold.grant.ticket]);
    match probe(&only(searching(rig))) {
        Probe::Answer(answer) => answer,
        other => panic!("{other:?}"),
    }
}

#[test]
fn one_waiter_after_another_has_its_own_wait() {
    let rig = rig(Deadlock::Report);
    let hold = outer(&rig);
    let free = asked_about(&rig, &hold, 1);
    let named = hold.grant.ticket.without_secret();
    assert_eq!(free.free, [named], "its task waits for nothing");
    let first = rig.enter(&within(&hold));
    let (asked, ticket, counter) = rig.asked();
    rig.answer(asked, queued());
    let second = rig.enter(&within(&hold));
    let answer = asked_about(&rig, &hold, 2);
    let waits = &answer.holds[0].waits;
    // Two branches of the task wait. The second branch has no ticket of its own, and waits behind the first.
    assert_eq!(waits.len(), 2);
    assert!(
        waits
            .iter()
            .all(|wait| wait.after == Some(ticket.without_secret())),
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
    for (pass, answers) in [(1, 1), (1, 0), (2, 1)] {
        ask(&rig, &hold, from, pass, tickets.clone());
        assert_eq!(searching(&rig).len(), answers, "pass {pass}");
    }
    // A pass asks again if it needs to know more about the same name.
    ask(&rig, &hold, from, 2, vec![Ticket::random()]);
    assert_eq!(searching(&rig).len(), 1);
    for text in ["", "nonsense", "answer 7", "search x"] {
        let text = seal::letter(from, hold.name(), hold.grant.ticket, text).into();
        rig.member.told(hold.name(), Message::Probe { from, text });
    }
    // A stranger has heard the public half.
    let question = Probe::Ask { pass: 3, tickets }.text();
    let stranger = hold.grant.ticket.without_secret();
    for text in [
        question.clone(),
        seal::letter(from, hold.name(), stranger, &question),
    ] {
        let text = text.into();
        rig.member.told(hold.name(), Message::Probe { from, text });
    }
    assert!(searching(&rig).is_empty());
}
