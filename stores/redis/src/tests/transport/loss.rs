//! Lost connections, and servers that do not answer for a while.

use super::*;
use crate::tests::real_time::real_time;
use auto_mutex_seam::store::RandomId;

#[tokio::test]
async fn a_killed_connection_is_replaced() {
    let server = Server::start();
    let mut admin = server.connection();
    let mut peer = Peer::new(&server).await;
    for _ in 0..3 {
        kill_connections(&mut admin);
        peer.lost().await;
        peer.back().await;
        peer.works().await;
        let listening: u32 = run(&mut admin, &["PUBLISH", &channel(peer.member), "-"]);
        assert_eq!(listening, 1);
    }
    peer.end().await;
}

#[tokio::test]
async fn a_frozen_server_is_noticed_with_and_without_requests() {
    let _watch = real_time();
    let server = Server::start();
    let mut peer = Peer::new(&server).await;
    server.signal("STOP");
    let id = peer.submit("n", acquire(Ticket::random()));
    assert!(peer.answer(id).await.unwrap_err().is_disconnected());
    peer.lost().await;
    // Without a connection, a request fails immediately, and is not kept.
    let id = peer.submit("n", acquire(Ticket::random()));
    assert!(peer.answer(id).await.unwrap_err().is_disconnected());
    server.signal("CONT");
    peer.back().await;
    server.signal("STOP");
    peer.lost().await;
    server.signal("CONT");
    peer.back().await;
    assert!(peer.ask("m", acquire(Ticket::random())).await.is_ok());
    peer.end().await;
}

#[tokio::test]
async fn a_restarted_server_is_found_again() {
    let mut server = Server::start();
    let mut peer = Peer::new(&server).await;
    server.stop();
    peer.lost().await;
    for _ in 0..3 {
        let id = peer.submit("n", acquire(Ticket::random()));
        assert!(peer.answer(id).await.unwrap_err().is_disconnected());
    }
    server.restart();
    peer.back().await;
    assert!(peer.ask("n", acquire(Ticket::random())).await.is_ok());
    peer.end().await;
}

#[tokio::test]
async fn a_primary_that_becomes_a_replica_is_left_until_it_is_one_again() {
    let server = Server::start();
    let mut admin = server.connection();
    let mut peer = Peer::new(&server).await;
    run::<()>(&mut admin, &["REPLICAOF", "127.0.0.1", "1"]);
    let answer = peer.ask("n", acquire(Ticket::random())).await;
    assert!(answer.unwrap_err().is_disconnected());
    peer.lost().await;
    run::<()>(&mut admin, &["REPLICAOF", "NO", "ONE"]);
    peer.back().await;
    assert!(peer.ask("n", acquire(Ticket::random())).await.is_ok());
    peer.end().await;
}
