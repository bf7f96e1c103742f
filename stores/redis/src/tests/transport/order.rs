//! The order of answers, and the messages to members.

use super::*;
use auto_mutex_seam::store::RandomId;

#[tokio::test]
async fn a_release_tells_the_next_member() {
    let server = Server::start();
    let [mut one, mut two] = [Peer::new(&server).await, Peer::new(&server).await];
    let [first, second] = [Ticket::random(), Ticket::random()];
    let granted = one.ask("n", acquire(first)).await.unwrap();
    let Reply::Granted { token, .. } = granted else {
        panic!("{granted:?}");
    };
    let queued = two.ask("n", acquire(second)).await.unwrap();
    assert!(
        matches!(queued, Reply::Queued { position: 1, holder: Some(holder), .. } if holder.token == token)
    );
    assert_eq!(
        one.ask("n", release(first)).await.unwrap(),
        Reply::Released { free: 0 }
    );
    let told = two.event().await;
    let Event::Told(
        name,
        Message::Grant {
            ticket,
            token: next,
            counter: 1,
            hold,
            ..
        },
    ) = told
    else {
        panic!("{told:?}");
    };
    assert_eq!(
        (name.as_str(), ticket, hold),
        ("n", second, Duration::from_secs(2))
    );
    assert!(next > token);
    assert_eq!(
        two.ask("n", touch(second)).await.unwrap(),
        Reply::Granted {
            token: next,
            signal: None
        }
    );
    let freed = one.ask("n", Op::Force).await.unwrap();
    assert_eq!(freed, Reply::Count(1));
    let told = two.event().await;
    assert!(matches!(told, Event::Told(_, Message::Lost { ticket }) if ticket == second));
    one.end().await;
    two.end().await;
}

#[tokio::test]
async fn what_piles_up_is_answered_in_order_and_an_error_is_nobody_elses() {
    let server = Server::start();
    let mut admin = server.connection();
    run::<()>(&mut admin, &["SET", "auto_mutex:{500}", "somebody's"]);
    let mut peer = Peer::new(&server).await;
    let calls = |admin: &mut Connection| {
        let info: String = run(admin, &["INFO", "stats"]);
        let line = info
            .lines()
            .find_map(|line| line.strip_prefix("total_reads_processed:"));
        line.unwrap().parse::<u64>().unwrap()
    };
    let before = calls(&mut admin);
    let ids: Vec<_> = (0..1000)
        .map(|number| peer.submit(&number.to_string(), acquire(Ticket::random())))
        .collect();
    let odd = ids[500];
    for id in ids {
        let reply = peer.answer(id).await;
        if id == odd {
            assert_eq!(reply.unwrap_err().kind(), StoreErrorKind::Foreign);
        } else {
            assert!(matches!(reply, Ok(Reply::Granted { .. })));
        }
    }
    // The requests were written together: the server read far fewer times than once per request.
    let reads = calls(&mut admin) - before;
    assert!(reads < 100, "{reads}");
    peer.end().await;
}

#[tokio::test]
async fn garbage_on_the_channel_is_ignored() {
    let server = Server::start();
    let mut admin = server.connection();
    let mut peer = Peer::new(&server).await;
    for garbage in ["", "grant", "near x n", "{\"a\":1}", "\0"] {
        run::<()>(&mut admin, &["PUBLISH", &channel(peer.member), garbage]);
    }
    assert!(peer.ask("n", acquire(Ticket::random())).await.is_ok());
    peer.end().await;
}

#[tokio::test]
async fn a_full_memory_denies_acquires_only() {
    let server = Server::start();
    let mut admin = server.connection();
    let mut peer = Peer::new(&server).await;
    let [single, first, second] = [Ticket::random(), Ticket::random(), Ticket::random()];
    assert!(peer.ask("single", acquire(single)).await.is_ok());
    assert!(peer.ask("queued", acquire(first)).await.is_ok());
    assert!(peer.ask("queued", acquire(second)).await.is_ok());
    run::<()>(&mut admin, &["CONFIG", "SET", "maxmemory", "1"]);
    let denied = peer
        .ask("new", acquire(Ticket::random()))
        .await
        .unwrap_err();
    assert_eq!(denied.kind(), StoreErrorKind::Busy);
    assert!(matches!(
        peer.ask("single", touch(single)).await,
        Ok(Reply::Granted { .. })
    ));
    assert_eq!(
        peer.ask("single", release(single)).await.unwrap(),
        Reply::Released { free: 1 }
    );
    assert!(matches!(
        peer.ask("queued", touch(second)).await,
        Ok(Reply::Queued { .. })
    ));
    let (reply, told) = peer.ask_and_hear("queued", release(first)).await;
    assert_eq!(reply, Reply::Released { free: 0 });
    assert!(matches!(told, Message::Grant { .. }));
    assert!(matches!(
        peer.ask("queued", touch(second)).await,
        Ok(Reply::Granted { .. })
    ));
    let (reply, told) = peer.ask_and_hear("queued", Op::Force).await;
    assert_eq!(reply, Reply::Count(1));
    assert!(matches!(told, Message::Lost { .. }));
    peer.end().await;
}
