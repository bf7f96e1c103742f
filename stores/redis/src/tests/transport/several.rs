//! Operations on several names in one command.

use super::direct::scripts_run;
use super::*;
use auto_mutex_seam::store::RandomId;

/// Submits all operations together. Returns their replies, and how many scripts the server ran for them.
async fn together(
    peer: &mut Peer,
    admin: &mut Connection,
    ops: Vec<(String, Op)>,
) -> (Vec<Result<Reply, StoreError>>, u64) {
    let before = scripts_run(admin);
    let ids: Vec<_> = ops
        .into_iter()
        .map(|(name, op)| peer.enqueue(&name, op))
        .collect();
    peer.store.flush();
    let mut replies = Vec::new();
    for id in ids {
        replies.push(peer.answer(id).await);
    }
    (replies, scripts_run(admin) - before)
}

fn named<const N: usize>(ops: [(&str, Op); N]) -> Vec<(String, Op)> {
    ops.map(|(name, op)| (name.to_owned(), op)).into()
}

fn is_granted(reply: &Result<Reply, StoreError>) -> bool {
    matches!(reply, Ok(Reply::Granted { .. }))
}

fn is_freed(reply: &Result<Reply, StoreError>) -> bool {
    matches!(reply, Ok(Reply::Released { free: 1 }))
}

#[tokio::test]
async fn each_command_has_sixteen_names_and_each_name_its_own_reply() {
    let server = Server::start();
    let mut admin = server.connection();
    run::<()>(&mut admin, &["SET", "auto_mutex:{20}", "somebody's"]);
    run::<()>(&mut admin, &["LPUSH", "auto_mutex:{21}", "somebody's"]);
    let mut peer = Peer::new(&server).await;
    let tickets = [(); 33].map(|()| Ticket::random());
    let on_each = |op: fn(Ticket) -> Op| {
        let tickets = tickets.iter().enumerate();
        tickets.map(move |(number, ticket)| (number.to_string(), op(*ticket)))
    };
    for (op, fits) in [
        (acquire as fn(Ticket) -> Op, is_granted as fn(&_) -> bool),
        (touch, is_granted),
        (release, is_freed),
    ] {
        let (replies, count) = together(&mut peer, &mut admin, on_each(op).collect()).await;
        assert_eq!(count, 3);
        for (number, reply) in replies.iter().enumerate() {
            match number {
                20 | 21 => {
                    let error = reply.as_ref().unwrap_err();
                    assert_eq!(error.kind(), StoreErrorKind::Foreign);
                }
                _ => assert!(fits(reply), "{number}: {reply:?}"),
            }
        }
    }
    peer.end().await;
}

#[tokio::test]
async fn of_one_name_they_run_in_order() {
    let server = Server::start();
    let mut admin = server.connection();
    let mut peer = Peer::new(&server).await;
    let [first, second, other] = [(); 3].map(|()| Ticket::random());
    let ops = named([
        ("n", acquire(first)),
        ("other", acquire(other)),
        ("n", release(first)),
        ("n", acquire(second)),
        ("n", touch(second)),
        ("other", touch(other)),
        ("n", release(second)),
    ]);
    let (replies, count) = together(&mut peer, &mut admin, ops).await;
    assert_eq!(count, 1);
    for (index, reply) in replies.iter().enumerate() {
        let fits = if matches!(index, 2 | 6) {
            is_freed
        } else {
            is_granted
        };
        assert!(fits(reply), "{index}: {reply:?}");
    }
    peer.end().await;
}

#[tokio::test]
async fn what_takes_long_has_a_command_of_its_own() {
    let server = Server::start();
    let mut admin = server.connection();
    let mut peer = Peer::new(&server).await;
    let inspect = || Op::Inspect { above: 0 };
    let ops = named([
        ("a", acquire(Ticket::random())),
        ("a", inspect()),
        ("b", inspect()),
        ("b", acquire(Ticket::random())),
        ("c", acquire(Ticket::random())),
    ]);
    let (replies, count) = together(&mut peer, &mut admin, ops).await;
    assert_eq!(count, 4);
    let used = |reply: &Result<Reply, StoreError>| match reply {
        Ok(Reply::Info(info)) => info.used,
        other => panic!("{other:?}"),
    };
    assert_eq!((used(&replies[1]), used(&replies[2])), (1, 0));
    peer.end().await;
}

#[tokio::test]
async fn a_full_memory_denies_one_name_only() {
    let server = Server::start();
    let mut admin = server.connection();
    let mut peer = Peer::new(&server).await;
    let [held, touched, waiting] = [(); 3].map(|()| Ticket::random());
    for (name, ticket) in [("held", held), ("touched", touched), ("touched", waiting)] {
        peer.ask(name, acquire(ticket)).await.unwrap();
    }
    run::<()>(&mut admin, &["CONFIG", "SET", "maxmemory", "1"]);
    let ops = named([
        ("new", acquire(Ticket::random())),
        ("held", release(held)),
        ("touched", touch(waiting)),
        ("touched", touch(touched)),
    ]);
    let (replies, count) = together(&mut peer, &mut admin, ops).await;
    assert_eq!(count, 1);
    let denied = replies[0].as_ref().unwrap_err();
    assert_eq!(denied.kind(), StoreErrorKind::Busy);
    assert!(is_freed(&replies[1]), "{replies:?}");
    assert!(
        matches!(replies[2], Ok(Reply::Queued { .. })),
        "{replies:?}"
    );
    assert!(is_granted(&replies[3]), "{replies:?}");
    peer.end().await;
}

#[tokio::test]
async fn lost_scripts_are_loaded_for_all_names() {
    let server = Server::start();
    let mut admin = server.connection();
    let mut peer = Peer::new(&server).await;
    let [first, second, other] = [(); 3].map(|()| Ticket::random());
    peer.ask("n", acquire(first)).await.unwrap();
    run::<()>(&mut admin, &["SCRIPT", "FLUSH"]);
    let ops = named([
        ("other", acquire(other)),
        ("n", release(first)),
        ("n", acquire(second)),
        ("other", touch(other)),
        ("n", release(second)),
        ("other", release(other)),
    ]);
    let (replies, count) = together(&mut peer, &mut admin, ops).await;
    assert_eq!(count, 2);
    for (index, reply) in replies.iter().enumerate() {
        let fits = if matches!(index, 1 | 4 | 5) {
            is_freed
        } else {
            is_granted
        };
        assert!(fits(reply), "{index}: {reply:?}");
    }
    peer.end().await;
}

#[tokio::test]
async fn all_names_are_answered_when_the_connection_is_lost() {
    let mut server = Server::start();
    let mut peer = Peer::new(&server).await;
    peer.works().await;
    server.signal("STOP");
    let names = ["a", "b", "c", "d"];
    let ids = names.map(|name| peer.enqueue(name, acquire(Ticket::random())));
    peer.store.flush();
    // This one is not even written.
    let last = peer.enqueue("e", acquire(Ticket::random()));
    server.stop();
    for id in ids.into_iter().chain([last]) {
        assert!(peer.answer(id).await.unwrap_err().is_disconnected());
    }
    peer.lost().await;
    peer.end().await;
}

#[tokio::test]
async fn a_server_that_became_a_replica_is_left_for_all_names() {
    let server = Server::start();
    let mut admin = server.connection();
    let mut peer = Peer::new(&server).await;
    let ticket = Ticket::random();
    peer.ask("n", acquire(ticket)).await.unwrap();
    run::<()>(&mut admin, &["REPLICAOF", "127.0.0.1", "1"]);
    let ops = [
        ("n", touch(ticket)),
        ("m", acquire(Ticket::random())),
        ("unknown", release(ticket)),
    ];
    let ids = ops.map(|(name, op)| peer.enqueue(name, op));
    peer.store.flush();
    for (index, id) in ids.into_iter().enumerate() {
        let reply = peer.answer(id).await;
        match index {
            // This one writes nothing.
            2 => assert!(matches!(reply, Ok(Reply::Gone)), "{reply:?}"),
            _ => assert!(reply.unwrap_err().is_disconnected()),
        }
    }
    // The member leaves at once, so a replica never answers this one, although it could.
    let last = peer.submit("unknown", release(ticket));
    let mut lost = false;
    let reply = loop {
        match peer.event().await {
            Event::Disconnected(_) => lost = true,
            Event::Answered(answer) if answer.request.id == last => break answer.result,
            other => panic!("{other:?}"),
        }
    };
    assert!(reply.unwrap_err().is_disconnected());
    if !lost {
        peer.lost().await;
    }
    run::<()>(&mut admin, &["REPLICAOF", "NO", "ONE"]);
    peer.back().await;
    peer.end().await;
}

#[tokio::test]
async fn a_closed_server_grants_to_no_name() {
    let server = Server::start();
    let mut admin = server.connection();
    let held = Ticket::random();
    let mut peer = Peer::new(&server).await;
    peer.ask("held", acquire(held)).await.unwrap();
    run::<()>(&mut admin, &["REPLICAOF", "127.0.0.1", "1"]);
    run::<()>(&mut admin, &["REPLICAOF", "NO", "ONE"]);
    kill_connections(&mut admin);
    peer.lost().await;
    peer.back().await;
    let ops = named([
        ("a", acquire(Ticket::random())),
        ("held", touch(held)),
        ("b", acquire(Ticket::random())),
    ]);
    let (replies, count) = together(&mut peer, &mut admin, ops).await;
    assert_eq!(count, 1);
    assert!(is_granted(&replies[1]), "{replies:?}");
    for reply in [&replies[0], &replies[2]] {
        assert!(matches!(reply, Ok(Reply::Queued { .. })), "{replies:?}");
    }
    peer.end().await;
}
