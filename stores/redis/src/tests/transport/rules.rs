//! Rules that our connection follows and general clients do not. See "Why we have our own connection" in
//! `docs/decisions.md`.

use super::relay::Relay;
use super::*;
use crate::script::Scripts;
use auto_mutex_seam::store::RandomId;

#[tokio::test]
async fn the_epoch_is_read_on_each_connection_before_the_first_request() {
    let server = Server::start();
    let relay = Relay::new(&server, 65536);
    let mut peer = relay.peer().await;
    let scripts = Scripts::of(false);
    for _ in 0..3 {
        peer.works().await;
        let epoch = relay.heard(scripts.digests()[1]);
        let request = relay.heard("auto_mutex:{n}");
        // The script's digest first occurs in the question whether the server has the script.
        assert!(
            epoch.len() >= 2 && epoch[1] < request[0],
            "{epoch:?} {request:?}"
        );
        relay.forget();
        relay.cut();
        peer.lost().await;
        peer.back().await;
    }
    peer.end().await;
}

#[tokio::test]
async fn a_promotion_between_two_connections_closes_the_second_one() {
    let server = Server::start();
    let mut admin = server.connection();
    let mut peer = Peer::new(&server).await;
    peer.works().await;
    run::<()>(&mut admin, &["REPLICAOF", "127.0.0.1", "1"]);
    run::<()>(&mut admin, &["REPLICAOF", "NO", "ONE"]);
    kill_connections(&mut admin);
    peer.lost().await;
    peer.back().await;
    let queued = peer.ask("free", acquire(Ticket::random())).await.unwrap();
    assert!(matches!(queued, Reply::Queued { .. }), "{queued:?}");
    peer.end().await;
}

#[tokio::test]
async fn nothing_is_sent_again_unasked() {
    let server = Server::start();
    let relay = Relay::new(&server, 65536);
    let mut peer = relay.peer().await;
    server.signal("STOP");
    let id = peer.submit("once", acquire(Ticket::random()));
    let end = std::time::Instant::now() + LONG;
    let sent = loop {
        let sent = relay.heard("auto_mutex:{once}").len();
        if sent > 0 {
            break sent;
        }
        assert!(std::time::Instant::now() < end, "not written");
        tokio::time::sleep(Duration::from_millis(1)).await;
    };
    relay.cut();
    server.signal("CONT");
    // The request may or may not have run, so its caller must be told of the loss.
    assert!(peer.answer(id).await.unwrap_err().is_disconnected());
    peer.lost().await;
    peer.back().await;
    peer.works().await;
    assert_eq!(relay.heard("auto_mutex:{once}").len(), sent);
    peer.end().await;
}

#[tokio::test]
async fn an_unasked_unsubscription_takes_the_reply_of_no_request() {
    let server = Server::start();
    let relay = Relay::new(&server, 65536);
    let mut peer = relay.peer().await;
    for _ in 0..3 {
        let ticket = Ticket::random();
        // The server is stopped, so that the unsubscription arrives while all three requests are in flight.
        server.signal("STOP");
        let ops = [acquire(ticket), touch(ticket), release(ticket)];
        let ids = ops.map(|op| peer.submit("n", op));
        relay.say(b">3\r\n$12\r\nsunsubscribe\r\n$7\r\nchannel\r\n:0\r\n");
        server.signal("CONT");
        for id in &ids[..2] {
            let granted = peer.answer(*id).await;
            assert!(matches!(granted, Ok(Reply::Granted { .. })), "{granted:?}");
        }
        let released = peer.answer(ids[2]).await.unwrap();
        assert_eq!(released, Reply::Released { free: 1 });
    }
    peer.end().await;
}
