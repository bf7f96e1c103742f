//! What others do at the same time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use auto_mutex_seam::store::{Mode, Op, RandomId, Reply, RequestId, Ticket};

use super::peer::{Event, Peer, acquire, release, touch};
use super::server::{Server, shared};

/// How often the lock goes to the next.
const ROUNDS: usize = 300;
/// A grant that its waiter does not confirm, because the test stands still, ends so long after it.
const UNCONFIRMED: Duration = Duration::from_secs(2);

/// The answer to a request. Messages may come before.
async fn answered(peer: &mut Peer, id: RequestId) -> Reply {
    loop {
        match peer.event().await {
            Event::Answered(answer) if answer.request.id == id => return answer.result.unwrap(),
            Event::Told(..) => {}
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn whoever_looks_sees_one_moment() {
    let server = shared();
    let url = server.url(&server.database().await);
    let mut peer = Peer::new(&url).await;
    let mut looker = Peer::new(&url).await;
    let (mut held, _) = peer.holds("n").await;
    let done = Arc::new(AtomicBool::new(false));
    let is_done = done.clone();
    let looking = tokio::spawn(async move {
        while !is_done.load(Ordering::Relaxed) {
            let state = looker.ask("n", Op::Inspect { above: 0 }).await.unwrap();
            let record = state.into_record();
            let granted = SystemTime::UNIX_EPOCH + Duration::from_micros(record.token);
            let is_late = granted.elapsed().is_ok_and(|ago| ago >= UNCONFIRMED);
            let holders = record.holders.len();
            assert!(
                holders == 1 || holders == 0 && is_late,
                "it goes from one holder to the next: {record:?}"
            );
        }
        looker.end().await;
    });
    for _ in 0..ROUNDS {
        let next = Ticket::random();
        for op in [acquire(next, Mode::Queue), release(held), touch(next, 2)] {
            let id = peer.submit("n", op);
            answered(&mut peer, id).await;
        }
        held = next;
    }
    done.store(true, Ordering::Relaxed);
    looking.await.unwrap();
    peer.end().await;
}

/// To a transaction that began before it, a table that was truncated is empty.
#[tokio::test]
async fn nobody_takes_rewritten_tables_for_empty() {
    let server = shared();
    let database = server.database().await;
    let mut holder = Peer::new(&server.url(&database)).await;
    holder.holds("n").await;
    let during = async |op: Op| {
        let mut peer = Peer::new(&server.url(&database)).await;
        let result = loop {
            let writer = server.admin(&database).await;
            writer.batch_execute("BEGIN").await.unwrap();
            let compact = "SELECT auto_mutex.compact()";
            writer.batch_execute(compact).await.unwrap();
            let id = peer.submit("n", op.clone());
            wait_for_a_lock(server, &database).await;
            writer.batch_execute("COMMIT").await.unwrap();
            match peer.answer(id).await {
                // On a slow machine, it waits longer for the tables than it may.
                Err(error) if error.code() == Some("55P03") => {}
                result => break result.unwrap(),
            }
        };
        peer.end().await;
        result
    };
    let tried = during(acquire(Ticket::random(), Mode::Try)).await;
    assert!(matches!(tried, Reply::Busy { .. }), "{tried:?}");
    let seen = during(Op::Inspect { above: 0 }).await.into_record();
    assert_eq!(seen.holders.len(), 1, "{seen:?}");
    holder.end().await;
}

/// Returns when somebody waits for a lock on a table of this database, or may have given up by now.
async fn wait_for_a_lock(server: &Server, database: &str) {
    let admin = server.admin(database).await;
    let waits = "SELECT EXISTS (SELECT FROM pg_locks JOIN pg_database AS d ON d.oid = database \
        WHERE d.datname = current_database() AND locktype = 'relation' AND NOT granted)";
    for _ in 0..400 {
        if admin.query_one(waits, &[]).await.unwrap().get(0) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
