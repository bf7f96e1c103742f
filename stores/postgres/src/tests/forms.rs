//! Requests and messages on a connection, in each way to hear of others.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use auto_mutex_seam::store::{
    Answer, Message, Mode, Name, Op, RandomId, Reply, Request, RequestId, Share, Signal,
    StoreErrorKind, StoreOptions, Ticket, with_sources,
};
use tokio::time::sleep;
use uuid::Uuid;

use super::peer::{Event, Peer, acquire, lease, options, release, touch};
use super::real_time::real_time;
use super::server::shared;

#[tokio::test]
async fn a_waiter_is_granted_by_a_message() {
    let server = shared();
    let url = server.url(&server.database().await);
    let (mut one, mut other) = (Peer::new(&url).await, Peer::new(&url).await);
    let (held, token) = one.holds("n").await;
    let waiting = Ticket::random();
    let queued = other.ask("n", acquire(waiting, Mode::Queue)).await.unwrap();
    let Reply::Queued {
        position: 1,
        holder: Some(holder),
        ..
    } = queued
    else {
        panic!("{queued:?}");
    };
    assert_eq!((holder.token, &*holder.meta), (token, "host 1 site"));
    let released = one.ask("n", release(held)).await.unwrap();
    assert_eq!(released, Reply::Released { free: 0 });
    let Message::Grant {
        ticket,
        token: next,
        counter: 1,
        ..
    } = other.message().await
    else {
        panic!("no grant");
    };
    assert!(ticket == waiting && next > token);
    let claimed = other.ask("n", touch(waiting, 2)).await.unwrap();
    assert_eq!(
        claimed,
        Reply::Granted {
            token: next,
            signal: None
        }
    );
    let busy = one
        .ask("n", acquire(Ticket::random(), Mode::Try))
        .await
        .unwrap();
    assert!(matches!(busy, Reply::Busy { holder: Some(_) }));
    one.end().await;
    other.end().await;
}

#[tokio::test]
async fn a_member_grants_to_itself_by_a_message() {
    let server = shared();
    let mut peer = Peer::new(&server.url(&server.database().await)).await;
    let (held, _) = peer.holds("n").await;
    let waiting = Ticket::random();
    let queued = peer.ask("n", acquire(waiting, Mode::Queue)).await.unwrap();
    assert!(matches!(queued, Reply::Queued { position: 1, .. }));
    peer.submit("n", release(held));
    let told = [peer.event().await, peer.event().await];
    let granted = told.iter().any(|event| {
        matches!(event, Event::Told(_, Message::Grant { ticket, .. }) if *ticket == waiting)
    });
    assert!(granted, "{told:?}");
    peer.end().await;
}

#[tokio::test]
async fn requests_for_a_name_are_answered_in_order_however_many_there_are() {
    let server = shared();
    let mut peer = Peer::new(&server.url(&server.database().await)).await;
    let mut asked: [VecDeque<_>; 7] = Default::default();
    for round in 0..500 {
        let (ticket, name) = (Ticket::random(), round % asked.len());
        for op in [acquire(ticket, Mode::Queue), release(ticket)] {
            let id = peer.enqueue(&name.to_string(), op);
            asked[name].push_back(id);
        }
    }
    peer.store.flush();
    while asked.iter().any(|left| !left.is_empty()) {
        let Event::Answered(Answer { request, result }) = peer.event().await else {
            panic!("only answers come");
        };
        let name: usize = request.name.as_str().parse().unwrap();
        assert_eq!(asked[name].pop_front(), Some(request.id));
        match (&request.op, result.unwrap()) {
            (Op::Acquire { .. }, Reply::Granted { .. }) => {}
            (Op::Release { .. }, Reply::Released { free: 1 }) => {}
            (_, reply) => panic!("{reply:?}"),
        }
    }
    peer.end().await;
}

/// A request that waits for a row too long makes others fail with it, but only once.
#[tokio::test]
async fn requests_go_alone_after_some_failed_together() {
    let server = shared();
    let database = server.database().await;
    let mut peer = Peer::new(&server.url(&database)).await;
    let (held, _) = peer.holds("stuck").await;
    let admin = server.admin(&database).await;
    let lock = "BEGIN; SELECT FROM auto_mutex.names WHERE name = 'stuck' FOR UPDATE";
    admin.batch_execute(lock).await.unwrap();
    let mut failures = Vec::new();
    for _ in 0..2 {
        // The first goes alone, and the others follow together while it is on its way.
        for index in 0..4 {
            peer.enqueue(&format!("other{index}"), touch(Ticket::random(), 1));
        }
        peer.enqueue("stuck", touch(held, 2));
        peer.store.flush();
        let mut failed = Vec::new();
        for _ in 0..5 {
            match peer.event().await {
                Event::Answered(Answer { request, result }) => {
                    if let Err(error) = result {
                        assert_eq!(error.kind(), StoreErrorKind::Busy);
                        failed.push(request.name.as_str().to_owned());
                    }
                }
                other => panic!("{other:?}"),
            }
        }
        failures.push(failed);
    }
    assert!(failures[0].len() > 1, "{failures:?}");
    assert_eq!(failures[1], ["stuck"]);
    peer.end().await;
}

#[tokio::test]
async fn every_operation_has_its_function() {
    let server = shared();
    let url = server.url(&server.database().await);
    let (mut one, mut other) = (Peer::new(&url).await, Peer::new(&url).await);
    let (held, token) = one.holds("n").await;
    let heir = Ticket::random();
    let adopted = other
        .ask(
            "n",
            Op::Adopt {
                old: held,
                lease: super::peer::lease(heir, 1),
                meta: "other 2 site".into(),
            },
        )
        .await;
    let Ok(Reply::Granted { token: next, .. }) = adopted else {
        panic!("{adopted:?}");
    };
    assert!(next > token);
    let raised = other
        .ask(
            "n",
            Op::Raise {
                ticket: heir,
                token: next + 5,
            },
        )
        .await;
    let Ok(Reply::Granted { token: raised, .. }) = raised else {
        panic!("{raised:?}");
    };
    assert_eq!(raised, next + 5);
    let state = one
        .ask("n", Op::Inspect { above: 0 })
        .await
        .unwrap()
        .into_record();
    assert_eq!(state.holders.len(), 1);
    assert_eq!(
        (state.holders[0].ticket, state.holders[0].token),
        (heir, raised)
    );
    assert_eq!(state.holders[0].member, other.member);
    assert_eq!(&*state.holders[0].meta, "other 2 site");
    assert_eq!(
        (state.token, state.capacity, state.used),
        (raised, Some(1), 1)
    );
    assert!(state.exists && state.kick.is_none());
    let in_use = one.ask("n", Op::Delete).await.unwrap();
    assert_eq!(
        in_use,
        Reply::InUse {
            holders: 1,
            waiters: 0
        }
    );
    for (token, holders) in [(0, 0), (raised, 1)] {
        let by = "host 3 site".into();
        let kicked = one.ask("n", Op::Kick { token, by }).await.unwrap();
        assert_eq!(kicked, Reply::Count(holders));
    }
    assert_eq!(other.message().await, Message::Lost { ticket: heir });
    let state = one
        .ask("n", Op::Inspect { above: 0 })
        .await
        .unwrap()
        .into_record();
    let kick = state.kick.unwrap();
    assert_eq!((kick.token, &*kick.by), (raised, "host 3 site"));
    let forced = one.ask("n", Op::Force).await.unwrap();
    assert_eq!(forced, Reply::Count(0));
    let probe = Op::Probe {
        to: other.member,
        text: "ask 1 2".into(),
    };
    assert_eq!(one.ask("n", probe).await.unwrap(), Reply::Count(1));
    let text = "ask 1 2".into();
    let from = one.member;
    assert_eq!(other.message().await, Message::Probe { from, text });
    assert_eq!(one.ask("n", Op::Delete).await.unwrap(), Reply::Count(1));
    for text in ["a text", "", "with \0 and \u{1}", "%41"] {
        let signal = Signal::Token(text.into());
        let ticket = Ticket::random();
        let added = one.ask("s", Op::Signal { ticket, signal }).await.unwrap();
        assert_eq!(added, Reply::Count(1));
        let ticket = Ticket::random();
        let taken = one
            .ask(
                "s",
                Op::Acquire {
                    lease: super::peer::lease(ticket, 1),
                    share: auto_mutex_seam::store::Share::permits(1, 1),
                    mode: Mode::Queue,
                    meta: "m".into(),
                },
            )
            .await;
        let Ok(Reply::Granted {
            token,
            signal: Some(signal),
        }) = taken
        else {
            panic!("{taken:?}");
        };
        assert_eq!(&*signal, text);
        let park = std::time::Duration::ZERO;
        let done = Op::Release {
            ticket,
            park,
            tomb: false,
            used: token,
        };
        assert!(matches!(
            one.ask("s", done).await,
            Ok(Reply::Released { .. })
        ));
    }
    one.end().await;
    other.end().await;
}

#[tokio::test]
async fn who_has_gone_is_not_told() {
    let server = shared();
    let url = server.url(&server.database().await);
    let (mut one, other) = (Peer::new(&url).await, Peer::new(&url).await);
    let to = other.member;
    other.end().await;
    loop {
        let text = "x".into();
        // The server ends the process of a closed connection a moment later.
        match one.ask("n", Op::Probe { to, text }).await.unwrap() {
            Reply::Count(0) => break,
            Reply::Count(1) => tokio::time::sleep(std::time::Duration::from_millis(5)).await,
            other => panic!("{other:?}"),
        }
    }
    one.end().await;
}

/// There is no room for a long signal in a notification, nor is it in the mail.
#[tokio::test]
async fn who_does_not_listen_reads_mail() {
    let server = shared();
    let url = server.url(&server.database().await);
    let mut one = Peer::new(&url).await;
    let mut other = Peer::new(&format!("{url}?poll=20ms")).await;
    let text: Arc<str> = "\u{e4}\0".repeat(4000).into();
    for waits_by_mail in [true, false] {
        let (waiter, signaller) = match waits_by_mail {
            true => (&mut other, &mut one),
            false => (&mut one, &mut other),
        };
        let waiting = Ticket::random();
        let take = Op::Acquire {
            lease: lease(waiting, 1),
            share: Share::permits(1, 0),
            mode: Mode::Queue,
            meta: "host 1 site".into(),
        };
        let queued = waiter.ask("s", take).await.unwrap();
        assert!(matches!(queued, Reply::Queued { .. }), "{queued:?}");
        let (ticket, signal) = (Ticket::random(), Signal::Token(text.clone()));
        let added = signaller.ask("s", Op::Signal { ticket, signal }).await;
        assert_eq!(added.unwrap(), Reply::Count(1));
        match waiter.message().await {
            Message::Ask { ticket } => assert_eq!(ticket, waiting),
            other => panic!("{other:?}"),
        }
        let granted = waiter.ask("s", touch(waiting, 2)).await.unwrap();
        let Reply::Granted { signal, .. } = granted else {
            panic!("{granted:?}");
        };
        assert_eq!(signal.as_deref(), Some(&*text));
        let (to, probe) = (waiter.member, "x".into());
        let sent = signaller.ask("s", Op::Probe { to, text: probe }).await;
        assert_eq!(sent.unwrap(), Reply::Count(1));
        assert!(matches!(waiter.message().await, Message::Probe { .. }));
    }
    one.end().await;
    other.end().await;
}

#[tokio::test]
async fn whoever_reads_mail_has_read_it_when_a_renewal_is_answered() {
    let server = shared();
    let url = server.url(&server.database().await);
    let mut one = Peer::new(&url).await;
    let mut other = Peer::new(&format!("{url}?poll=1100ms")).await;
    let (held, _) = other.holds("n").await;
    let forced = one.ask("n", Op::Force).await;
    assert_eq!(forced.unwrap(), Reply::Count(1));
    let renewal = other.submit("n", touch(held, 2));
    assert_eq!(other.message().await, Message::Lost { ticket: held });
    assert_eq!(other.answer(renewal).await.unwrap(), Reply::Gone);
    one.end().await;
    other.end().await;
}

#[tokio::test]
async fn a_full_queue_of_notifications_costs_a_second() {
    let server = shared();
    let database = server.database().await;
    let admin = server.admin(&database).await;
    let url = server.url(&database);
    for (share, is_far, is_told) in [
        ("0", true, true),
        ("0.6", false, true),
        ("0.95", false, false),
    ] {
        // To fill the queue takes gigabytes. A session that has called the function goes on with what it was.
        let usage = format!(
            "CREATE OR REPLACE FUNCTION pg_catalog.pg_notification_queue_usage() RETURNS float8 LANGUAGE sql AS 'SELECT {share}::float8'"
        );
        admin.batch_execute(&usage).await.unwrap();
        let (mut one, mut other) = (Peer::new(&url).await, Peer::new(&url).await);
        let (held, _) = one.holds(share).await;
        let tickets: Vec<Ticket> = (0..5).map(|_| Ticket::random()).collect();
        for &ticket in &tickets {
            let queued = other.ask(share, acquire(ticket, Mode::Queue)).await;
            assert!(matches!(queued, Ok(Reply::Queued { .. })), "{queued:?}");
        }
        // Those in the back rely on messages, unless the queue may become full before they look again.
        let queued = other.ask(share, touch(tickets[4], 2)).await.unwrap();
        let Reply::Queued { again, .. } = queued else {
            panic!("{queued:?}");
        };
        assert_eq!(again.as_millis() > 1100, is_far, "{share}: {again:?}");
        let released = one.ask(share, release(held)).await.unwrap();
        assert_eq!(released, Reply::Released { free: 0 });
        if is_told {
            assert!(matches!(other.message().await, Message::Grant { .. }));
        }
        let granted = other.ask(share, touch(tickets[0], 2)).await.unwrap();
        assert!(matches!(granted, Reply::Granted { .. }));
        one.end().await;
        other.end().await;
    }
}

#[tokio::test]
async fn idle_names_are_forgotten() {
    let server = shared();
    let database = server.database().await;
    let mut peer = Peer::new(&server.url(&database)).await;
    peer.holds("held by a dead client").await;
    let waiting = Ticket::random();
    peer.ask("held by a dead client", acquire(waiting, Mode::Queue))
        .await
        .unwrap();
    peer.works().await;
    let admin = server.admin(&database).await;
    let at_minute = async |minute: i64| {
        let forgets =
            "SELECT auto_mutex.forget_idle(1000, auto_mutex.clock(NULL) + $1::int8 * 60000000)";
        let forgotten = admin.query_one(forgets, &[&minute]).await.unwrap();
        let left = "SELECT (SELECT count(*) FROM auto_mutex.names), (SELECT count(*) FROM auto_mutex.tickets)";
        let left = admin.query_one(left, &[]).await.unwrap();
        (
            forgotten.get::<_, i32>(0),
            left.get::<_, i64>(0),
            left.get::<_, i64>(1),
        )
    };
    assert_eq!(at_minute(9).await, (0, 2, 2));
    assert_eq!(at_minute(11).await, (1, 1, 0));
    assert_eq!(at_minute(22).await, (1, 0, 0));
    peer.end().await;
}

/// As when the snapshot of a virtual machine is started twice.
#[tokio::test]
async fn a_copy_of_a_client_does_not_take_its_place() {
    let _watch = real_time();
    let server = shared();
    let url = server.url(&server.database().await);
    let mut one = Peer::new(&url).await;
    // A second is enough, unless the machine is busy.
    let (cause, mut limit) = ("a copy of this process", Duration::from_millis(1500));
    let error = loop {
        let soon = StoreOptions {
            connect_timeout: limit,
            ..options()
        };
        let error = Peer::with(&url, one.member, soon).await.err().unwrap();
        let error = with_sources(&error);
        if error.contains(cause) {
            break error;
        }
        limit *= 2;
    };
    assert!(error.contains(cause), "{error}");
    one.works().await;
    one.end().await;
}

#[tokio::test]
async fn requests_have_their_settings_behind_a_pooler_too() {
    let server = shared();
    let database = server.database().await;
    let url = server.url(&database);
    let mut own = Peer::new(&url).await;
    let mut pooled = Peer::new(&format!("{url}?poll=200ms")).await;
    let told = "CREATE OR REPLACE FUNCTION auto_mutex.clock(now bigint) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN \
        RAISE 'they are set' USING ERRCODE = CASE WHEN (current_setting('lock_timeout'), current_setting('enable_seqscan'), \
        current_setting('jit')) = ('1s', 'off', 'off') THEN 'AM001' ELSE 'AM002' END; END $$";
    let admin = server.admin(&database).await;
    admin.batch_execute(told).await.unwrap();
    for peer in [&mut own, &mut pooled] {
        let asked = peer.ask("n", acquire(Ticket::random(), Mode::Try)).await;
        assert_eq!(asked.unwrap_err().code(), Some("AM001"));
    }
}

#[tokio::test]
async fn a_lock_that_another_transaction_keeps_costs_only_its_own_requests() {
    let _watch = real_time();
    let server = shared();
    let database = server.database().await;
    let mut peer = Peer::new(&server.url(&database)).await;
    let (held, _) = peer.holds("n").await;
    let admin = server.admin(&database).await;
    let freeze = "BEGIN; SELECT FROM auto_mutex.names WHERE name = 'n' FOR UPDATE";
    admin.batch_execute(freeze).await.unwrap();
    let error = peer.ask("n", touch(held, 2)).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Busy);
    assert_eq!(error.code(), Some("55P03"));
    peer.works().await;
    // A session of a pooler has no settings of ours.
    let mut pooled = Peer::new(&format!("{}?poll=200ms", server.url(&database))).await;
    let error = pooled.ask("n", touch(held, 3)).await.unwrap_err();
    assert_eq!(error.code(), Some("55P03"));
    pooled.end().await;
    admin.batch_execute("COMMIT").await.unwrap();
    assert!(peer.ask("n", touch(held, 4)).await.is_ok());
    peer.end().await;
}

#[tokio::test]
async fn closing_answers_everything_first() {
    let server = shared();
    let url = server.url(&server.database().await);
    let mut peer = Peer::new(&url).await;
    let mut asked: HashSet<_> = HashSet::new();
    for _ in 0..50 {
        asked.insert(peer.submit("n", acquire(Ticket::random(), Mode::Try)).0);
    }
    peer.store.close();
    let error = peer.refusal("n", acquire(Ticket::random(), Mode::Try));
    assert!(error.unwrap_err().is_disconnected());
    while !asked.is_empty() {
        match peer.event().await {
            Event::Answered(answer) => {
                answer.result.unwrap();
                assert!(asked.remove(&answer.request.id.0));
            }
            other => panic!("{other:?}"),
        }
    }
    peer.end().await;
}

/// A release with an acquire is one write only if nothing speaks against it.
#[tokio::test]
async fn a_release_with_an_acquire_is_refused_or_waits_like_an_acquire() {
    const NOW: i64 = 1_795_000_000_000_000;
    let server = shared();
    let database = server.database().await;
    // It makes the schema.
    Peer::new(&server.url(&database)).await.end().await;
    let admin = server.admin(&database).await;
    let [held, next] = [Uuid::from_u128(1), Uuid::from_u128(2)];
    for (opens, tomb, expected) in [
        (0, false, "GRANTED"),
        (NOW + 1_000_000, false, "QUEUED"),
        (0, true, "REFUSED"),
    ] {
        let name = format!("{expected} after {opens}");
        let hold = "SELECT auto_mutex.acquire($1, $2, $2, 1, 1, 1, false, 9000, 9000, 0::int2, false, '', 0, $3)";
        let bury = "SELECT auto_mutex.release($1, $2, $2, 0, true, 0, 0, $3)";
        admin.query_one(hold, &[&name, &held, &NOW]).await.unwrap();
        if tomb {
            admin.query_one(bury, &[&name, &next, &NOW]).await.unwrap();
        }
        let both = "SELECT auto_mutex.run(ARRAY[$1::text], $2::uuid, ARRAY[$2], ARRAY[$3::uuid], '{1}', '{1}', '{1}', '{f}', '{9000}', '{9000}', \
            '{0}', '{f}', '{meta}', $4, $5)";
        let row = admin
            .query_one(both, &[&name, &held, &next, &opens, &NOW])
            .await;
        let replies: Vec<String> = row.unwrap().get(0);
        let words = replies.iter().map(|reply| reply.split(' ').next().unwrap());
        assert_eq!(
            words.collect::<Vec<_>>(),
            ["RELEASED", expected],
            "{replies:?}"
        );
    }
}

#[tokio::test]
async fn only_a_client_with_locks_listens() {
    let _watch = real_time();
    let server = shared();
    let database = server.database().await;
    let admin = server.admin(&database).await;
    let log = format!("ALTER DATABASE {database} SET log_statement = 'all'");
    admin.batch_execute(&log).await.unwrap();
    let mut peer = Peer::idle(&server.url(&database)).await;
    let member = Uuid::try_parse(&peer.member.to_string()).unwrap();
    let said = async |public: u64| {
        let text = format!("probe {} n {public}", member.simple());
        let publish = "SELECT auto_mutex.publish($1, $2)";
        admin.query_one(publish, &[&member, &text]).await.unwrap();
    };
    said(1).await;
    // Its first request makes it listen, and the pause after the last one stops it.
    let request = || touch(Ticket::random(), 1);
    let (name, id) = (Name::from_escaped("n"), RequestId(1));
    let submit = |id| {
        peer.store.submit(Request {
            name: name.clone(),
            op: request(),
            id,
        })
    };
    assert!(submit(id).is_none());
    let stops = format!("$1 = '{member}', $2 = 'f'");
    let rests =
        "SELECT bool_and(state = 'idle') FROM pg_stat_activity JOIN auto_mutex.members USING (pid)";
    // It is logged when it begins.
    while !server.log().contains(&stops)
        || !admin.query_one(rests, &[]).await.unwrap().get::<_, bool>(0)
    {
        sleep(Duration::from_millis(20)).await;
    }
    said(2).await;
    assert!(submit(RequestId(2)).is_none());
    let mut answers = 0;
    while answers < 2 {
        match peer.event().await {
            Event::Answered(_) => answers += 1,
            other => panic!("{other:?}"),
        }
    }
    said(3).await;
    let Event::Told(_, Message::Probe { text, .. }) = peer.event().await else {
        panic!("no message");
    };
    assert_eq!(&*text, "3");
    peer.end().await;
}
