//! What is written again.

use super::super::super::scripts::{Script, Scripts};
use super::*;

/// The server loses the scripts but these.
fn lose_all_but(admin: &mut Connection, kept: &[Script]) {
    run::<()>(admin, &["SCRIPT", "FLUSH"]);
    let scripts = Scripts::of_server();
    for script in kept {
        let text = scripts.text(*script);
        run::<()>(admin, &["SCRIPT", "LOAD", text]);
    }
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
    lose_all_but(&mut admin, &[Script::ShortRelease, Script::Long]);
    let ticket = Ticket::random();
    let ids = [
        ("n", acquire(ticket)),
        ("other", Op::Inspect),
        ("n", release(ticket)),
    ];
    let ids = ids.map(|(name, op)| peer.submit(name, op));
    // The question was executed at once; these two are written again, in order.
    assert!(matches!(peer.answer(ids[1]).await, Ok(Reply::Info(_))));
    assert!(matches!(
        peer.answer(ids[0]).await,
        Ok(Reply::Granted { .. })
    ));
    assert_eq!(
        peer.answer(ids[2]).await.unwrap(),
        Reply::Released { free: 1 }
    );
    let info = peer.ask("n", Op::Inspect).await.unwrap();
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
    lose_all_but(&mut admin, &[Script::ShortRelease, Script::Long]);
    // The release runs at once, and once more behind the touch.
    let ids = [touch(ticket), release(ticket)].map(|op| peer.submit("n", op));
    assert_eq!(peer.answer(ids[0]).await.unwrap(), Reply::Gone);
    assert_eq!(
        peer.answer(ids[1]).await.unwrap(),
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
    lose_all_but(&mut admin, &[Script::Long]);
    let ids = [release(ticket), Op::Inspect, Op::Delete].map(|op| peer.submit("n", op));
    assert_eq!(
        peer.answer(ids[0]).await.unwrap(),
        Reply::Released { free: 1 }
    );
    let info = peer.answer(ids[1]).await.unwrap();
    assert!(
        matches!(&info, Reply::Info(record) if record.holders.is_empty()),
        "{info:?}"
    );
    let deleted = peer.answer(ids[2]).await.unwrap();
    assert_eq!(deleted, Reply::Deleted { existed: true });
    peer.end().await;
}
