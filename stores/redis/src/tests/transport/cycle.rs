//! A release and the next acquire of the same name, combined into one command.

use super::direct::scripts_run;
use super::*;
use auto_mutex_seam::store::RandomId;

/// Submits both operations together. Returns their replies, and how many scripts the server ran for them.
async fn together(
    peer: &mut Peer,
    admin: &mut Connection,
    ops: [(&str, Op); 2],
) -> ([Result<Reply, StoreError>; 2], u64) {
    let before = scripts_run(admin);
    let ids = ops.map(|(name, op)| peer.enqueue(name, op));
    peer.store.flush();
    let replies = [peer.answer(ids[0]).await, peer.answer(ids[1]).await];
    (replies, scripts_run(admin) - before)
}

#[tokio::test]
async fn a_release_and_the_next_acquire_are_one_command() {
    let server = Server::start();
    let mut admin = server.connection();
    let mut peer = Peer::new(&server).await;
    let mut tickets = [(); 3].map(|()| Ticket::random());
    peer.ask("n", acquire(tickets[0])).await.unwrap();
    let ops = [("n", release(tickets[0])), ("n", acquire(tickets[1]))];
    let ([released, acquired], count) = together(&mut peer, &mut admin, ops).await;
    assert_eq!(released.unwrap(), Reply::Released { free: 1 });
    assert!(matches!(acquired, Ok(Reply::Granted { .. })));
    assert_eq!(count, 1);
    tickets.swap(0, 1);
    // So are operations on different names.
    let ops = [("n", release(tickets[0])), ("other", acquire(tickets[2]))];
    let ([released, acquired], count) = together(&mut peer, &mut admin, ops).await;
    assert_eq!(released.unwrap(), Reply::Released { free: 1 });
    assert!(matches!(acquired, Ok(Reply::Granted { .. })));
    assert_eq!(count, 1);
    // An acquire that does not wait is combined too.
    let mut attempt = acquire(tickets[0]);
    if let Op::Acquire { mode, .. } = &mut attempt {
        *mode = Mode::Try;
    }
    let ops = [("other", release(tickets[2])), ("other", attempt)];
    let ([released, acquired], count) = together(&mut peer, &mut admin, ops).await;
    assert_eq!(released.unwrap(), Reply::Released { free: 1 });
    assert!(matches!(acquired, Ok(Reply::Granted { .. })));
    assert_eq!(count, 1);
    peer.end().await;
}

#[tokio::test]
async fn what_is_written_is_not_taken_back_for_it() {
    let server = Server::start();
    let mut admin = server.connection();
    let mut peer = Peer::new(&server).await;
    let [first, second] = [(); 2].map(|()| Ticket::random());
    peer.ask("n", acquire(first)).await.unwrap();
    tokio::task::yield_now().await;
    let before = scripts_run(&mut admin);
    // The caller's thread writes the release directly.
    let released = peer.submit("n", release(first));
    let acquired = peer.submit("n", acquire(second));
    assert_eq!(
        peer.answer(released).await.unwrap(),
        Reply::Released { free: 1 }
    );
    assert!(matches!(
        peer.answer(acquired).await,
        Ok(Reply::Granted { .. })
    ));
    assert_eq!(scripts_run(&mut admin) - before, 2);
    peer.end().await;
}

#[tokio::test]
async fn a_cycle_waits_its_turn_behind_others() {
    let server = Server::start();
    let mut admin = server.connection();
    let [mut peer, mut other] = [Peer::new(&server).await, Peer::new(&server).await];
    let [first, waiting, second] = [(); 3].map(|()| Ticket::random());
    peer.ask("n", acquire(first)).await.unwrap();
    other.ask("n", acquire(waiting)).await.unwrap();
    let ops = [("n", release(first)), ("n", acquire(second))];
    let ([released, acquired], _) = together(&mut peer, &mut admin, ops).await;
    assert_eq!(released.unwrap(), Reply::Released { free: 0 });
    assert!(matches!(acquired, Ok(Reply::Queued { .. })), "{acquired:?}");
    let told = other.event().await;
    assert!(matches!(told, Event::Told(_, Message::Grant { ticket, .. }) if ticket == waiting));
    other.end().await;
    peer.end().await;
}

#[tokio::test]
async fn a_cycle_survives_lost_scripts() {
    let server = Server::start();
    let mut admin = server.connection();
    let mut peer = Peer::new(&server).await;
    let [first, second] = [(); 2].map(|()| Ticket::random());
    peer.ask("n", acquire(first)).await.unwrap();
    run::<()>(&mut admin, &["SCRIPT", "FLUSH"]);
    let ops = [("n", release(first)), ("n", acquire(second))];
    let ([released, acquired], _) = together(&mut peer, &mut admin, ops).await;
    assert_eq!(released.unwrap(), Reply::Released { free: 1 });
    assert!(
        matches!(acquired, Ok(Reply::Granted { .. })),
        "{acquired:?}"
    );
    peer.end().await;
}

#[tokio::test]
async fn both_parts_of_a_cycle_are_answered_when_the_connection_is_lost() {
    let mut server = Server::start();
    let mut peer = Peer::new(&server).await;
    let [first, second] = [(); 2].map(|()| Ticket::random());
    peer.ask("n", acquire(first)).await.unwrap();
    server.signal("STOP");
    let released = peer.enqueue("n", release(first));
    let acquired = peer.enqueue("n", acquire(second));
    peer.store.flush();
    server.stop();
    assert!(peer.answer(released).await.unwrap_err().is_disconnected());
    assert!(peer.answer(acquired).await.unwrap_err().is_disconnected());
    peer.lost().await;
    peer.end().await;
}

#[tokio::test]
async fn an_acquire_and_a_release_that_are_written_together_run_in_the_best_order() {
    let server = Server::start();
    let mut peer = Peer::new(&server).await;
    let [first, second] = [Ticket::random(), Ticket::random()];
    assert!(peer.ask("n", acquire(first)).await.is_ok());
    // The release comes first, so the acquire need not wait for a message.
    let acquired = peer.enqueue("n", acquire(second));
    let released = peer.submit("n", release(first));
    let freed = peer.answer(released).await.unwrap();
    assert_eq!(freed, Reply::Released { free: 1 });
    let granted = peer.answer(acquired).await.unwrap();
    assert!(matches!(granted, Reply::Granted { .. }), "{granted:?}");

    // With the same ticket, the release is of this very acquire.
    let own = Ticket::random();
    let acquired = peer.enqueue("other", acquire(own));
    let released = peer.submit("other", release(own));
    assert!(matches!(
        peer.answer(acquired).await,
        Ok(Reply::Granted { .. })
    ));
    let freed = peer.answer(released).await.unwrap();
    assert_eq!(freed, Reply::Released { free: 1 });

    // Both permits can be held together, so the acquire comes first, as submitted.
    let [one, two] = [Ticket::random(), Ticket::random()];
    let permit = |ticket| ops::acquire(ticket, 2, Mode::Queue);
    assert!(peer.ask("permits", permit(one)).await.is_ok());
    let acquired = peer.enqueue("permits", permit(two));
    let released = peer.submit("permits", release(one));
    assert!(matches!(
        peer.answer(acquired).await,
        Ok(Reply::Granted { .. })
    ));
    let freed = peer.answer(released).await.unwrap();
    assert_eq!(freed, Reply::Released { free: 1 });
    peer.end().await;
}
