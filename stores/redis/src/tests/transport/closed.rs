//! A closed server.

use super::*;
use auto_mutex_seam::store::RandomId;

/// Grants `ticket` the name `n`. Then the server becomes a replica, and a primary again.
async fn promoted(server: &Server, ticket: Ticket) {
    let mut before = Peer::new(server).await;
    before.ask("n", acquire(ticket)).await.unwrap();
    before.end().await;
    let mut admin = server.connection();
    run::<()>(&mut admin, &["REPLICAOF", "127.0.0.1", "1"]);
    run::<()>(&mut admin, &["REPLICAOF", "NO", "ONE"]);
}

#[tokio::test]
async fn what_is_plain_elsewhere_gets_nothing() {
    let server = Server::start();
    let [held, next, free] = [(); 3].map(|()| Ticket::random());
    promoted(&server, held).await;
    let mut peer = Peer::new(&server).await;
    let queued = peer.ask("free", acquire(free)).await.unwrap();
    assert!(matches!(queued, Reply::Queued { .. }), "{queued:?}");
    assert!(matches!(
        peer.ask("n", touch(held)).await,
        Ok(Reply::Granted { .. })
    ));
    // With an open server, these two would form one command.
    let ids = [release(held), acquire(next)].map(|op| peer.enqueue("n", op));
    peer.store.flush();
    assert_eq!(
        peer.answer(ids[0]).await.unwrap(),
        Reply::Released { free: 1 }
    );
    let queued = peer.answer(ids[1]).await.unwrap();
    assert!(matches!(queued, Reply::Queued { .. }), "{queued:?}");
    peer.end().await;
}

#[tokio::test]
async fn so_does_what_is_written_again() {
    let server = Server::start();
    promoted(&server, Ticket::random()).await;
    let mut peer = Peer::new(&server).await;
    run::<()>(&mut server.connection(), &["SCRIPT", "FLUSH"]);
    let queued = peer.ask("free", acquire(Ticket::random())).await.unwrap();
    assert!(matches!(queued, Reply::Queued { .. }), "{queued:?}");
    peer.end().await;
}
