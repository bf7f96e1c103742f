//! The connection: the order of answers, losses, and when each request is answered.

mod again;
mod close;
mod closed;
mod cycle;
mod direct;
mod loss;
mod order;
mod relay;
mod rules;
#[cfg(feature = "tls")]
mod secure;
mod several;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use auto_mutex_seam::StoreError;
use auto_mutex_seam::store::{
    Answer, Events, MemberId, Message, Mode, Name, Node, NodeChange, Op, RandomId, Reply, Request,
    RequestId, Store as _, StoreErrorKind, Ticket, lock,
};
use redis::Connection;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::ops::{self, release, touch};
use super::server::{LONG, Server, connect, run};
use crate::RedisEndpoint;
use crate::pipeline::Pipeline;
use crate::script::command::channel;

#[derive(Debug)]
enum Event {
    Answered(Answer),
    Told(Name, Message),
    /// Whether there was a connection before.
    Connected(bool),
    Disconnected(StoreError),
}

/// Those that a peer has asked about, by their public halves.
static TICKETS: Mutex<BTreeMap<u64, Ticket>> = Mutex::new(BTreeMap::new());

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

    fn ticket(&self, _: &Name, public: u64) -> Option<Ticket> {
        lock(&TICKETS).get(&public).copied()
    }

    fn told(&self, name: &Name, message: Message) {
        self.note(Event::Told(name.clone(), message));
    }

    fn node_changed(&self, _: Node, change: NodeChange) {
        match change {
            NodeChange::Connected { again } => self.note(Event::Connected(again)),
            NodeChange::Disconnected(error) => self.note(Event::Disconnected(error)),
            _ => {}
        }
    }
}

/// A member with its connection, and all events that it received.
pub(super) struct Peer {
    member: MemberId,
    store: Arc<Pipeline>,
    events: UnboundedReceiver<Event>,
    driver: JoinHandle<()>,
    submitted: u64,
}

impl Peer {
    pub(super) async fn new(server: &Server) -> Self {
        Self::at(&server.endpoint("")).await
    }

    async fn at(endpoint: &RedisEndpoint) -> Self {
        let member = MemberId::random();
        let (store, driver) = connect(endpoint, LONG, None, member).await.unwrap();
        let (sender, events) = unbounded_channel();
        let driver = tokio::spawn(driver.run(Arc::new(Recorder(sender))));
        let mut peer = Self {
            member,
            store,
            events,
            driver,
            submitted: 0,
        };
        assert!(matches!(peer.event().await, Event::Connected(false)));
        peer
    }

    async fn event(&mut self) -> Event {
        timeout(LONG, self.events.recv())
            .await
            .expect("no event")
            .unwrap()
    }

    fn submit(&mut self, name: &str, op: Op) -> RequestId {
        let id = self.enqueue(name, op);
        self.store.flush();
        id
    }

    /// Submits a request that may be written later.
    fn enqueue(&mut self, name: &str, op: Op) -> RequestId {
        self.submitted += 1;
        let id = RequestId(self.submitted);
        let name = Name::from_escaped(name);
        let ticket = op.ticket().map(|ticket| (ticket.public(), ticket));
        lock(&TICKETS).extend(ticket);
        assert!(self.store.submit(Request { name, op, id }).is_none());
        id
    }

    /// Returns the next answer, which must belong to request `id`.
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

    /// Sends a request that also causes a message to this member. The server sends both together, in an order that
    /// depends on its version.
    async fn ask_and_hear(&mut self, name: &str, op: Op) -> (Reply, Message) {
        let asked = self.submit(name, op);
        let events = [self.event().await, self.event().await];
        let ((Event::Answered(answer), Event::Told(_, message))
        | (Event::Told(_, message), Event::Answered(answer))) = events.into()
        else {
            panic!("not one answer and one message");
        };
        assert_eq!(answer.request.id, asked);
        (answer.result.unwrap(), message)
    }

    pub(super) async fn lost(&mut self) {
        match self.event().await {
            Event::Disconnected(error) => assert!(error.is_disconnected()),
            other => panic!("{other:?}"),
        }
    }

    pub(super) async fn back(&mut self) {
        match self.event().await {
            Event::Connected(again) => assert!(again),
            other => panic!("{other:?}"),
        }
    }

    /// Checks that a lock can be granted and released.
    pub(super) async fn works(&mut self) {
        let ticket = Ticket::random();
        assert!(matches!(
            self.ask("n", acquire(ticket)).await,
            Ok(Reply::Granted { .. })
        ));
        assert_eq!(
            self.ask("n", release(ticket)).await.unwrap(),
            Reply::Released { free: 1 }
        );
    }

    pub(super) async fn end(mut self) {
        self.store.close();
        timeout(LONG, self.driver).await.unwrap().unwrap();
        assert!(self.events.recv().await.is_none());
    }
}

fn acquire(ticket: Ticket) -> Op {
    ops::acquire(ticket, 1, Mode::Queue)
}

fn kill_connections(admin: &mut Connection) {
    let killed: u32 = run(admin, &["CLIENT", "KILL", "TYPE", "pubsub"]);
    assert!(killed > 0);
}
