//! What others do at the same time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use auto_mutex_core::store::{Mode, Op, Reply, RequestId, Ticket};

use super::peer::{Event, Peer, acquire, release, touch};
use super::server::shared;

/// How often the lock goes to the next.
const ROUNDS: usize = 300;

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
            let holders = state.into_record().holders.len();
            assert_eq!(holders, 1, "it goes from one holder to the next");
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
