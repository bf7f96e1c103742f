//! Closing a store.

use super::*;
use auto_mutex_seam::store::RandomId;

#[tokio::test]
async fn closing_answers_everything_and_takes_no_more() {
    let server = Server::start();
    let mut admin = server.connection();
    let mut peer = Peer::new(&server).await;
    let ids: Vec<_> = (0..100)
        .map(|number| peer.submit(&number.to_string(), acquire(Ticket::random())))
        .collect();
    peer.store.close();
    for id in ids {
        assert!(matches!(peer.answer(id).await, Ok(Reply::Granted { .. })));
    }
    let request = Request {
        name: Name::from_escaped("n"),
        op: Op::Inspect { above: 0 },
        id: RequestId(0),
    };
    let refused = peer.store.submit(request).unwrap();
    assert!(refused.result.unwrap_err().is_disconnected());
    let member = peer.member;
    peer.end().await;
    // The server may not have noticed yet.
    while run::<u32>(&mut admin, &["PUBLISH", &channel(member), "-"]) > 0 {}
}

#[tokio::test]
async fn closing_ends_a_member_that_cannot_connect() {
    let mut server = Server::start();
    let mut peer = Peer::new(&server).await;
    server.stop();
    peer.lost().await;
    peer.end().await;
}
