//! Requests that are sent again because the server had lost the scripts.

use super::direct::{scripts_run, until_run};
use super::*;
use crate::script::Scripts;
use auto_mutex_seam::store::RandomId;

/// Submits `op` to a server without the scripts. Another client loads them before the next request.
fn ask_in_vain(peer: &mut Peer, admin: &mut Connection, op: Op) -> RequestId {
    run::<()>(admin, &["SCRIPT", "FLUSH"]);
    let before = scripts_run(admin);
    let id = peer.submit("n", op);
    until_run(admin, before + 1);
    for text in Scripts::of(false).texts() {
        run::<()>(admin, &["SCRIPT", "LOAD", text]);
    }
    id
}

#[tokio::test]
async fn lost_scripts_are_loaded_again() {
    let server = Server::start();
    let mut admin = server.connection();
    let mut peer = Peer::new(&server).await;
    for _ in 0..3 {
        run::<()>(&mut admin, &["SCRIPT", "FLUSH"]);
        let ticket = Ticket::random();
        let ids = [
            acquire(ticket),
            touch(ticket),
            release(ticket),
            touch(ticket),
        ];
        let ids = ids.map(|op| peer.submit("n", op));
        assert!(matches!(
            peer.answer(ids[0]).await,
            Ok(Reply::Granted { .. })
        ));
        assert!(matches!(
            peer.answer(ids[1]).await,
            Ok(Reply::Granted { .. })
        ));
        assert_eq!(
            peer.answer(ids[2]).await.unwrap(),
            Reply::Released { free: 1 }
        );
        assert_eq!(peer.answer(ids[3]).await.unwrap(), Reply::Gone);
    }
    peer.end().await;
}

#[tokio::test]
async fn a_release_never_overtakes_an_acquire_whose_script_was_lost() {
    let server = Server::start();
    let mut admin = server.connection();
    let mut peer = Peer::new(&server).await;
    let ticket = Ticket::random();
    let acquired = ask_in_vain(&mut peer, &mut admin, acquire(ticket));
    let ids = [("other", Op::Inspect { above: 0 }), ("n", release(ticket))];
    let ids = ids.map(|(name, op)| peer.submit(name, op));
    // The `Inspect` runs the first time. The acquire and the release are sent again, in order.
    assert!(matches!(peer.answer(ids[0]).await, Ok(Reply::Info(_))));
    assert!(matches!(
        peer.answer(acquired).await,
        Ok(Reply::Granted { .. })
    ));
    assert_eq!(
        peer.answer(ids[1]).await.unwrap(),
        Reply::Released { free: 1 }
    );
    let info = peer.ask("n", Op::Inspect { above: 0 }).await.unwrap();
    assert!(matches!(info, Reply::Info(record) if record.holders.is_empty()));
    peer.end().await;
}

#[tokio::test]
async fn what_ran_before_it_is_written_again_keeps_its_answer() {
    let server = Server::start();
    let mut admin = server.connection();
    let mut peer = Peer::new(&server).await;
    let ticket = Ticket::random();
    peer.ask("n", acquire(ticket)).await.unwrap();
    let touched = ask_in_vain(&mut peer, &mut admin, touch(ticket));
    // The release runs once immediately, and again after the touch.
    let released = peer.submit("n", release(ticket));
    assert_eq!(peer.answer(touched).await.unwrap(), Reply::Gone);
    assert_eq!(
        peer.answer(released).await.unwrap(),
        Reply::Released { free: 1 }
    );
    peer.end().await;
}

#[tokio::test]
async fn who_looks_at_a_name_sees_what_was_asked_of_it_before() {
    let server = Server::start();
    let mut admin = server.connection();
    let mut peer = Peer::new(&server).await;
    let ticket = Ticket::random();
    peer.ask("n", acquire(ticket)).await.unwrap();
    let released = ask_in_vain(&mut peer, &mut admin, release(ticket));
    let ids = [Op::Inspect { above: 0 }, Op::Delete].map(|op| peer.submit("n", op));
    assert_eq!(
        peer.answer(released).await.unwrap(),
        Reply::Released { free: 1 }
    );
    let info = peer.answer(ids[0]).await.unwrap();
    assert!(
        matches!(&info, Reply::Info(record) if record.holders.is_empty()),
        "{info:?}"
    );
    let deleted = peer.answer(ids[1]).await.unwrap();
    assert_eq!(deleted, Reply::Count(1));
    peer.end().await;
}
