//! Which thread writes a request, and that none is mixed up or forgotten.

use auto_mutex_seam::store::RandomId;
use std::sync::{Mutex, OnceLock};
use std::thread;
use std::time::Instant;

use super::*;

/// Returns how many scripts the server has run so far.
pub(super) fn scripts_run(admin: &mut Connection) -> u64 {
    let info: String = run(admin, &["INFO", "commandstats"]);
    let calls = info
        .lines()
        .find_map(|line| line.strip_prefix("cmdstat_evalsha:calls="));
    calls.map_or(0, |calls| calls.split(',').next().unwrap().parse().unwrap())
}

pub(super) fn until_run(admin: &mut Connection, count: u64) {
    let end = Instant::now() + LONG;
    while scripts_run(admin) < count {
        assert!(Instant::now() < end, "not written");
        thread::sleep(Duration::from_millis(1));
    }
}

/// The test's runtime has one thread, so the driver runs only while the test awaits something.
#[tokio::test]
async fn a_caller_writes_by_itself_when_little_is_under_way() {
    let server = Server::start();
    writes_by_itself(&server, Peer::new(&server).await).await;
}

pub(super) async fn writes_by_itself(server: &Server, mut peer: Peer) {
    let mut admin = server.connection();
    // After this answer the driver waits, and the caller's thread writes the next request.
    assert_eq!(
        peer.ask("n", release(Ticket::random())).await.unwrap(),
        Reply::Gone
    );
    tokio::task::yield_now().await;
    let before = scripts_run(&mut admin);
    let ticket = Ticket::random();
    let acquired = peer.submit("n", acquire(ticket));
    until_run(&mut admin, before + 1);
    let released = peer.submit("n", release(ticket));
    until_run(&mut admin, before + 2);
    assert!(matches!(
        peer.answer(acquired).await,
        Ok(Reply::Granted { .. })
    ));
    assert_eq!(
        peer.answer(released).await.unwrap(),
        Reply::Released { free: 1 }
    );
    peer.end().await;
}

/// The server begins with them while more come, although the driver does not run.
#[tokio::test]
async fn a_caller_writes_full_commands_by_itself() {
    let server = Server::start();
    let mut admin = server.connection();
    let mut peer = Peer::new(&server).await;
    peer.ask("n", release(Ticket::random())).await.unwrap();
    tokio::task::yield_now().await;
    let before = scripts_run(&mut admin);
    let asked: Vec<_> = (0..200)
        .map(|index| peer.submit(&format!("n{index}"), acquire(Ticket::random())))
        .collect();
    until_run(&mut admin, before + 10);
    for id in asked {
        let reply = peer.answer(id).await.unwrap();
        assert!(matches!(reply, Reply::Granted { .. }), "{reply:?}");
    }
    peer.end().await;
}

/// For each answer to the test, sends one more request on the background thread.
struct Asking {
    store: OnceLock<Arc<Pipeline>>,
    /// How many bytes were unwritten after each of these requests.
    unwritten: Mutex<Vec<usize>>,
    recorder: Recorder,
}

impl Events for Asking {
    fn answered(&self, answer: Answer) {
        if answer.request.id.0 < 100
            && let Some(store) = self.store.get()
        {
            let request = Request {
                name: answer.request.name.clone(),
                op: acquire(Ticket::random()),
                id: RequestId(100 + answer.request.id.0),
            };
            assert!(store.submit(request).is_none());
            store.flush();
            self.unwritten.lock().unwrap().push(store.unwritten());
        }
        self.recorder.answered(answer);
    }

    fn ticket(&self, name: &Name, public: u64) -> Option<Ticket> {
        self.recorder.ticket(name, public)
    }

    fn told(&self, name: &Name, message: Message) {
        self.recorder.told(name, message);
    }

    fn node_changed(&self, node: Node, change: NodeChange) {
        self.recorder.node_changed(node, change);
    }
}

#[tokio::test]
async fn what_the_engine_asks_for_waits_for_those_whom_it_wakes_and_then_goes() {
    let server = Server::start();
    let (store, driver) = connect(&server.endpoint(""), LONG, None, MemberId::random())
        .await
        .unwrap();
    let (sender, mut events) = unbounded_channel();
    let asking = Arc::new(Asking {
        store: OnceLock::from(store.clone()),
        unwritten: Mutex::default(),
        recorder: Recorder(sender),
    });
    let driver = tokio::spawn(driver.run(asking.clone()));
    for id in 1..=10 {
        let request = Request {
            name: Name::from_escaped(&format!("name:{id}")),
            op: acquire(Ticket::random()),
            id: RequestId(id),
        };
        assert!(store.submit(request).is_none());
        store.flush();
        // Two answers come: to this request, and to the one that `Asking` sends for it.
        let mut left = 2;
        while left > 0 {
            let event = timeout(LONG, events.recv()).await.unwrap().unwrap();
            left -= u32::from(matches!(event, Event::Answered(_)));
        }
    }
    let unwritten = asking.unwritten.lock().unwrap().clone();
    assert!(
        unwritten.len() == 10 && unwritten.iter().all(|bytes| *bytes > 0),
        "{unwritten:?}"
    );
    store.close();
    timeout(LONG, driver).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_release_goes_even_if_nothing_follows() {
    let server = Server::start();
    let mut peer = Peer::new(&server).await;
    for _ in 0..100 {
        let ticket = Ticket::random();
        peer.ask("n", acquire(ticket)).await.unwrap();
        assert_eq!(
            peer.ask("n", release(ticket)).await.unwrap(),
            Reply::Released { free: 1 }
        );
    }
    peer.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_of_many_threads_are_answered_once_each_and_in_order() {
    let server = Server::start();
    many_threads(Peer::new(&server).await).await;
}

pub(super) async fn many_threads(mut peer: Peer) {
    const THREADS: u64 = 8;
    const EACH: u64 = 500;
    let threads = (0..THREADS).map(|number| {
        let store = peer.store.clone();
        thread::spawn(move || {
            for step in 0..EACH {
                // Each ticket is acquired, touched and released in turn. In any other order, the touch or the release
                // would fail.
                let ticket = Ticket::parse(&format!("{:032x}", number * EACH + step / 3)).unwrap();
                let op = [acquire, touch, release][step as usize % 3](ticket);
                let request = Request {
                    name: Name::from_escaped(&format!("thread:{number}")),
                    op,
                    id: RequestId(number * EACH + step),
                };
                assert!(store.submit(request).is_none());
                store.flush();
                if step % 50 == 0 {
                    // The pause varies how many requests are in flight.
                    thread::sleep(Duration::from_millis(1));
                }
            }
        })
    });
    let threads: Vec<_> = threads.collect();
    let mut next = [0; THREADS as usize];
    for _ in 0..THREADS * EACH {
        let Event::Answered(answer) = peer.event().await else {
            panic!("not an answer");
        };
        let id = answer.request.id.0;
        let step = &mut next[(id / EACH) as usize];
        assert_eq!(id % EACH, *step);
        let reply = answer.result.unwrap();
        match *step % 3 {
            2 => assert_eq!(reply, Reply::Released { free: 1 }),
            _ => assert!(matches!(reply, Reply::Granted { .. }), "{reply:?}"),
        }
        *step += 1;
    }
    for thread in threads {
        thread.join().unwrap();
    }
    peer.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_does_not_read_blocks_nobody_and_takes_bounded_room() {
    let server = Server::start();
    does_not_read(&server, Peer::new(&server).await).await;
}

pub(super) async fn does_not_read(server: &Server, mut peer: Peer) {
    const COUNT: u64 = 20_000;
    server.signal("STOP");
    for _ in 0..COUNT {
        peer.submit("n", release(Ticket::random()));
    }
    // Most requests wait unencoded instead of as bytes.
    assert!(peer.store.unwritten() < 1 << 20);
    server.signal("CONT");
    let mut lost = false;
    for id in 1..=COUNT {
        let event = loop {
            match peer.event().await {
                // The connection is lost if the machine takes longer than the watchdog allows.
                Event::Disconnected(_) | Event::Connected(_) => lost = true,
                event => break event,
            }
        };
        let Event::Answered(answer) = event else {
            panic!("{event:?}");
        };
        assert_eq!(answer.request.id, RequestId(id));
        assert!(
            lost || answer
                .result
                .as_ref()
                .is_ok_and(|reply| *reply == Reply::Gone)
                || answer.result.is_err_and(|error| error.is_disconnected())
        );
    }
    peer.end().await;
}
