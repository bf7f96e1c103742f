//! The connection: order, losses, and what is answered when.

use std::sync::Arc;
use std::time::Duration;

use redis::Connection;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::super::command::channel;
use super::super::scripts::{Operation, Scripts};
use super::super::{RedisStore, connect};
use super::server::{LONG, Server, run};
use crate::error::{StoreError, StoreErrorKind};
use crate::name::Name;
use crate::store::{
    Answer, Events, MemberId, Message, Mode, Op, Reply, Request, RequestId, Share, Store as _,
    Ticket,
};

#[derive(Debug)]
enum Event {
    Answered(Answer),
    Told(Name, Message),
    Connected(u64),
    Disconnected(StoreError),
}

struct Recorder(UnboundedSender<Event>);

impl Recorder {
    fn note(&self, event: Event) {
        let _ = self.0.send(event);
    }
}

impl Events for Recorder {
    fn answered(&self, answer: Answer) {
        self.note(Event::Answered(answer));
    }

    fn told(&self, name: &Name, message: Message) {
        self.note(Event::Told(name.clone(), message));
    }

    fn connected(&self, generation: u64) {
        self.note(Event::Connected(generation));
    }

    fn disconnected(&self, error: StoreError) {
        self.note(Event::Disconnected(error));
    }

    fn still_disconnected(&self, _error: StoreError) {}
}

/// A member with its connection, and everything that it was told.
struct Peer {
    member: MemberId,
    store: Arc<RedisStore>,
    events: UnboundedReceiver<Event>,
    driver: JoinHandle<()>,
    submitted: u64,
}

impl Peer {
    async fn new(server: &Server) -> Self {
        let member = MemberId::random();
        let (store, driver) = connect(&server.endpoint(""), LONG, member).await.unwrap();
        let (sender, events) = unbounded_channel();
        let driver = tokio::spawn(driver.run(Arc::new(Recorder(sender))));
        let mut peer = Self {
            member,
            store,
            events,
            driver,
            submitted: 0,
        };
        assert!(matches!(peer.event().await, Event::Connected(1)));
        peer
    }

    async fn event(&mut self) -> Event {
        timeout(LONG, self.events.recv())
            .await
            .expect("no event")
            .unwrap()
    }

    fn submit(&mut self, name: &str, op: Op) -> RequestId {
        self.submitted += 1;
        let id = RequestId(self.submitted);
        let name = Name::from_escaped(name);
        assert!(self.store.submit(Request { name, op, id }).is_none());
        id
    }

    /// The next answer; it must be that to `id`.
    async fn answer(&mut self, id: RequestId) -> Result<Reply, StoreError> {
        match self.event().await {
            Event::Answered(answer) => {
                assert_eq!(answer.request.id, id);
                answer.result
            }
            other => panic!("{other:?}"),
        }
    }

    async fn ask(&mut self, name: &str, op: Op) -> Result<Reply, StoreError> {
        let id = self.submit(name, op);
        self.answer(id).await
    }

    async fn lost(&mut self) {
        match self.event().await {
            Event::Disconnected(error) => assert!(error.is_disconnected()),
            other => panic!("{other:?}"),
        }
    }

    async fn back(&mut self, expected: u64) {
        match self.event().await {
            Event::Connected(generation) => assert_eq!(generation, expected),
            other => panic!("{other:?}"),
        }
    }

    async fn end(mut self) {
        self.store.close();
        timeout(LONG, self.driver).await.unwrap().unwrap();
        assert!(self.events.recv().await.is_none());
    }
}

fn acquire(ticket: Ticket) -> Op {
    Op::Acquire {
        ticket,
        counter: 1,
        share: Share::of(1, 1),
        hold: Duration::from_secs(10),
        place: Duration::from_secs(10),
        mode: Mode::Queue,
        meta: "host 1 site".into(),
    }
}

fn touch(ticket: Ticket) -> Op {
    Op::Touch {
        ticket,
        counter: 2,
        units: 0,
        hold: Duration::from_secs(10),
        place: Duration::from_secs(10),
    }
}

fn release(ticket: Ticket) -> Op {
    Op::Release {
        ticket,
        park: Duration::ZERO,
        tomb: false,
        used: 0,
    }
}

fn kill_connections(admin: &mut Connection) {
    let killed: u32 = run(admin, &["CLIENT", "KILL", "TYPE", "pubsub"]);
    assert!(killed > 0);
}

#[tokio::test]
async fn a_release_tells_the_next_member() {
    let server = Server::start();
    let [mut one, mut two] = [Peer::new(&server).await, Peer::new(&server).await];
    let [first, second] = [Ticket::random(), Ticket::random()];
    let granted = one.ask("n", acquire(first)).await.unwrap();
    let Reply::Granted { token, .. } = granted else {
        panic!("{granted:?}");
    };
    let queued = two.ask("n", acquire(second)).await.unwrap();
    assert!(
        matches!(queued, Reply::Queued { position: 1, holder: Some(holder), .. } if holder.token == token)
    );
    assert_eq!(
        one.ask("n", release(first)).await.unwrap(),
        Reply::Released { free: 0 }
    );
    let told = two.event().await;
    let Event::Told(
        name,
        Message::Grant {
            ticket,
            token: next,
            counter: 1,
            hold,
            ..
        },
    ) = told
    else {
        panic!("{told:?}");
    };
    assert_eq!(
        (name.as_str(), ticket, hold),
        ("n", second, Duration::from_secs(2))
    );
    assert!(next > token);
    assert_eq!(
        two.ask("n", touch(second)).await.unwrap(),
        Reply::Granted {
            token: next,
            signal: None
        }
    );
    let freed = one
        .ask(
            "n",
            Op::Force {
                owner: Default::default(),
            },
        )
        .await
        .unwrap();
    assert_eq!(freed, Reply::Freed { holders: 1 });
    let told = two.event().await;
    assert!(matches!(told, Event::Told(_, Message::Lost { ticket }) if ticket == second));
    one.end().await;
    two.end().await;
}

#[tokio::test]
async fn what_piles_up_is_answered_in_order_and_an_error_is_nobody_elses() {
    let server = Server::start();
    let mut admin = server.connection();
    run::<()>(&mut admin, &["SET", "auto_mutex:{500}", "somebody's"]);
    let mut peer = Peer::new(&server).await;
    let calls = |admin: &mut Connection| {
        let info: String = run(admin, &["INFO", "stats"]);
        let line = info
            .lines()
            .find_map(|line| line.strip_prefix("total_reads_processed:"));
        line.unwrap().parse::<u64>().unwrap()
    };
    let before = calls(&mut admin);
    let ids: Vec<_> = (0..1000)
        .map(|number| peer.submit(&number.to_string(), acquire(Ticket::random())))
        .collect();
    let odd = ids[500];
    for id in ids.into_iter().filter(|id| *id != odd) {
        let reply = peer.answer(id).await.unwrap();
        assert!(matches!(reply, Reply::Granted { .. }));
    }
    // The short way was of no use to it.
    let error = peer.answer(odd).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Foreign);
    // Written together: the server reads far less often than once per request.
    let reads = calls(&mut admin) - before;
    assert!(reads < 100, "{reads}");
    peer.end().await;
}

#[tokio::test]
async fn a_killed_connection_is_replaced() {
    let server = Server::start();
    let mut admin = server.connection();
    let mut peer = Peer::new(&server).await;
    for generation in 2..5 {
        kill_connections(&mut admin);
        peer.lost().await;
        peer.back(generation).await;
        let ticket = Ticket::random();
        assert!(matches!(
            peer.ask("n", acquire(ticket)).await,
            Ok(Reply::Granted { .. })
        ));
        assert_eq!(
            peer.ask("n", release(ticket)).await.unwrap(),
            Reply::Released { free: 1 }
        );
        let listening: u32 = run(&mut admin, &["PUBLISH", &channel(peer.member), "-"]);
        assert_eq!(listening, 1);
    }
    peer.end().await;
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
    run::<()>(&mut admin, &["SCRIPT", "FLUSH"]);
    let scripts = Scripts::new();
    for operation in [Operation::ShortRelease, Operation::Inspect] {
        let text = scripts.texts().nth(operation as usize).unwrap();
        run::<()>(&mut admin, &["SCRIPT", "LOAD", text]);
    }
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
async fn a_frozen_server_is_noticed_with_and_without_requests() {
    let server = Server::start();
    let mut peer = Peer::new(&server).await;
    server.signal("STOP");
    let id = peer.submit("n", acquire(Ticket::random()));
    assert!(peer.answer(id).await.unwrap_err().is_disconnected());
    peer.lost().await;
    // At once now, and not held back.
    let id = peer.submit("n", acquire(Ticket::random()));
    assert!(peer.answer(id).await.unwrap_err().is_disconnected());
    server.signal("CONT");
    peer.back(2).await;
    server.signal("STOP");
    peer.lost().await;
    server.signal("CONT");
    peer.back(3).await;
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
    peer.back(2).await;
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
    peer.back(2).await;
    assert!(peer.ask("n", acquire(Ticket::random())).await.is_ok());
    peer.end().await;
}

#[tokio::test]
async fn garbage_on_the_channel_is_ignored() {
    let server = Server::start();
    let mut admin = server.connection();
    let mut peer = Peer::new(&server).await;
    for garbage in ["", "grant", "near x n", "{\"a\":1}", "\0"] {
        run::<()>(&mut admin, &["PUBLISH", &channel(peer.member), garbage]);
    }
    assert!(peer.ask("n", acquire(Ticket::random())).await.is_ok());
    peer.end().await;
}

#[tokio::test]
async fn a_full_memory_denies_acquires_only() {
    let server = Server::start();
    let mut admin = server.connection();
    let mut peer = Peer::new(&server).await;
    let [single, first, second] = [Ticket::random(), Ticket::random(), Ticket::random()];
    assert!(peer.ask("single", acquire(single)).await.is_ok());
    assert!(peer.ask("queued", acquire(first)).await.is_ok());
    assert!(peer.ask("queued", acquire(second)).await.is_ok());
    run::<()>(&mut admin, &["CONFIG", "SET", "maxmemory", "1"]);
    let denied = peer
        .ask("new", acquire(Ticket::random()))
        .await
        .unwrap_err();
    assert_eq!(denied.kind(), StoreErrorKind::Refused);
    assert!(matches!(
        peer.ask("single", touch(single)).await,
        Ok(Reply::Granted { .. })
    ));
    assert_eq!(
        peer.ask("single", release(single)).await.unwrap(),
        Reply::Released { free: 1 }
    );
    assert!(matches!(
        peer.ask("queued", touch(second)).await,
        Ok(Reply::Queued { .. })
    ));
    assert_eq!(
        peer.ask("queued", release(first)).await.unwrap(),
        Reply::Released { free: 0 }
    );
    let told = peer.event().await;
    assert!(matches!(told, Event::Told(_, Message::Grant { .. })));
    assert!(matches!(
        peer.ask("queued", touch(second)).await,
        Ok(Reply::Granted { .. })
    ));
    assert_eq!(
        peer.ask(
            "queued",
            Op::Force {
                owner: Default::default()
            }
        )
        .await
        .unwrap(),
        Reply::Freed { holders: 1 }
    );
    let told = peer.event().await;
    assert!(matches!(told, Event::Told(_, Message::Lost { .. })));
    peer.end().await;
}

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
        op: Op::Inspect,
        id: RequestId(0),
    };
    let refused = peer.store.submit(request).unwrap();
    assert!(refused.result.unwrap_err().is_disconnected());
    let member = peer.member;
    peer.end().await;
    let listening: u32 = run(&mut admin, &["PUBLISH", &channel(member), "-"]);
    assert_eq!(listening, 0);
}

#[tokio::test]
async fn closing_ends_a_member_that_cannot_connect() {
    let mut server = Server::start();
    let mut peer = Peer::new(&server).await;
    server.stop();
    peer.lost().await;
    peer.end().await;
}
