//! [`Peer`]: a member with its connection, and all events that it received.

use std::sync::Arc;
use std::time::Duration;

use auto_mutex_seam::store::{
    Answer, Closed, Driver, Engine, Events, Lease, MemberId, Message, Mode, Name, Node, NodeChange,
    Op, RandomId, Reply, Request, RequestId, Share, Store, StoreOptions, Ticket,
};
use auto_mutex_seam::{SetupError, StoreError};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout, timeout_at};

use super::server::LONG;
use crate::url;

#[derive(Debug)]
pub(crate) enum Event {
    Answered(Answer),
    Told(Name, Message),
    /// Whether there was a connection before.
    Connected(bool),
    Disconnected(StoreError),
    Still,
    Closed(Option<Closed>),
    Forgotten,
}

struct Recorder {
    events: UnboundedSender<Event>,
    is_idle: bool,
}

impl Recorder {
    fn note(&self, event: Event) {
        let _ = self.events.send(event);
    }
}

impl Events for Recorder {
    fn answered(&self, answer: Answer) {
        self.note(Event::Answered(answer));
    }

    fn ticket(&self, _: &Name, _: u64) -> Option<Ticket> {
        None
    }

    fn told(&self, name: &Name, message: Message) {
        self.note(Event::Told(name.clone(), message));
    }

    fn is_idle(&self) -> bool {
        self.is_idle
    }

    fn node_changed(&self, _: Node, change: NodeChange) {
        match change {
            NodeChange::Connected { again } => self.note(Event::Connected(again)),
            NodeChange::Disconnected(error) => self.note(Event::Disconnected(error)),
            NodeChange::StillDisconnected(_) => self.note(Event::Still),
            NodeChange::Closed(closed) => self.note(Event::Closed(closed)),
            NodeChange::Forgotten => self.note(Event::Forgotten),
            NodeChange::Gone => {}
        }
    }
}

pub(crate) struct Peer {
    pub(crate) member: MemberId,
    pub(crate) store: Arc<dyn Store>,
    events: UnboundedReceiver<Event>,
    driver: JoinHandle<()>,
    submitted: u64,
    /// Closings since the last look.
    pub(crate) closed: Option<Closed>,
}

pub(crate) fn engine(rest: &str) -> Arc<dyn Engine> {
    url::parse("postgres", rest).unwrap()
}

pub(crate) fn options() -> StoreOptions {
    StoreOptions {
        connect_timeout: LONG,
        restart_guard: false,
        trust_failover: false,
        longest_lease: Duration::from_secs(30),
        lease: None,
        replicas: None,
        is_voter: false,
    }
}

impl Peer {
    pub(crate) async fn new(url: &str) -> Self {
        Self::open(url).await.unwrap()
    }

    pub(crate) async fn open(url: &str) -> Result<Self, SetupError> {
        Self::with(url, MemberId::random(), options()).await
    }

    pub(crate) async fn with(
        url: &str,
        member: MemberId,
        options: StoreOptions,
    ) -> Result<Self, SetupError> {
        Self::of(engine(url), member, options).await
    }

    pub(crate) async fn of(
        engine: Arc<dyn Engine>,
        member: MemberId,
        options: StoreOptions,
    ) -> Result<Self, SetupError> {
        let (store, mut driver) = engine.unconnected(&options, member);
        driver.open(options.connect_timeout).await?;
        let mut peer = Self::run(store, driver, member, false);
        assert!(!peer.connected().await);
        Ok(peer)
    }

    /// Holds nothing and waits for nothing, whatever it asks.
    pub(crate) async fn idle(url: &str) -> Self {
        let (options, member) = (options(), MemberId::random());
        let (store, mut driver) = engine(url).unconnected(&options, member);
        driver.open(options.connect_timeout).await.unwrap();
        let mut peer = Self::run(store, driver, member, true);
        peer.connected().await;
        peer
    }

    fn run(
        store: Arc<dyn Store>,
        driver: Box<dyn Driver>,
        member: MemberId,
        is_idle: bool,
    ) -> Self {
        let (events, received) = unbounded_channel();
        let driver = tokio::spawn(driver.run(Arc::new(Recorder { events, is_idle })));
        Self {
            member,
            store,
            events: received,
            driver,
            submitted: 0,
            closed: None,
        }
    }

    pub(crate) fn lazily(engine: Arc<dyn Engine>, options: StoreOptions) -> Self {
        let member = MemberId::random();
        let (store, driver) = engine.unconnected(&options, member);
        Self::run(store, driver, member, false)
    }

    /// The next event but closings, which are noted, and failed attempts.
    pub(crate) async fn event(&mut self) -> Event {
        let end = Instant::now() + LONG;
        loop {
            let event = timeout_at(end, self.events.recv()).await;
            match event.expect("no event").unwrap() {
                Event::Closed(closed) => self.closed = closed,
                Event::Still => {}
                event => return event,
            }
        }
    }

    pub(crate) async fn connected(&mut self) -> bool {
        match self.event().await {
            Event::Connected(again) => again,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) async fn lost(&mut self) -> StoreError {
        loop {
            match self.event().await {
                Event::Disconnected(error) => {
                    assert!(error.is_disconnected());
                    return error;
                }
                Event::Answered(answer) => assert!(answer.result.is_err()),
                other => panic!("{other:?}"),
            }
        }
    }

    pub(crate) fn submit(&mut self, name: &str, op: Op) -> RequestId {
        let id = self.enqueue(name, op);
        self.store.flush();
        id
    }

    pub(crate) fn enqueue(&mut self, name: &str, op: Op) -> RequestId {
        self.submitted += 1;
        let id = RequestId(self.submitted);
        let name = Name::from_escaped(name);
        let answer = self.store.submit(Request { name, op, id });
        assert!(answer.is_none(), "{answer:?}");
        id
    }

    /// The answer at once of a store that is not connected.
    pub(crate) fn refusal(&mut self, name: &str, op: Op) -> Result<Reply, StoreError> {
        let name = Name::from_escaped(name);
        let id = RequestId(0);
        let answer = self.store.submit(Request { name, op, id });
        answer.expect("an answer at once").result
    }

    /// Returns the next answer, which must belong to request `id`.
    pub(crate) async fn answer(&mut self, id: RequestId) -> Result<Reply, StoreError> {
        match self.event().await {
            Event::Answered(answer) => {
                assert_eq!(answer.request.id, id);
                answer.result
            }
            other => panic!("{other:?}"),
        }
    }

    pub(crate) async fn ask(&mut self, name: &str, op: Op) -> Result<Reply, StoreError> {
        let id = self.submit(name, op);
        self.answer(id).await
    }

    /// The error of a request on a connection that is lost, by this request or before.
    pub(crate) async fn fails(&mut self, name: &str, op: Op) -> StoreError {
        let (name, id) = (Name::from_escaped(name), RequestId(0));
        if let Some(answer) = self.store.submit(Request { name, op, id }) {
            return answer.result.unwrap_err();
        }
        self.store.flush();
        self.answer(id).await.unwrap_err()
    }

    pub(crate) async fn message(&mut self) -> Message {
        match self.event().await {
            Event::Told(name, message) => {
                assert!(!name.as_str().is_empty());
                message
            }
            other => panic!("{other:?}"),
        }
    }

    /// Acquires a lock, which must be free, and returns the ticket and its token.
    pub(crate) async fn holds(&mut self, name: &str) -> (Ticket, u64) {
        let ticket = Ticket::random();
        match self.ask(name, acquire(ticket, Mode::Queue)).await {
            Ok(Reply::Granted { token, .. }) => (ticket, token),
            other => panic!("{other:?}"),
        }
    }

    /// Checks that a lock can be granted and released.
    pub(crate) async fn works(&mut self) {
        let (ticket, _) = self.holds("works").await;
        let released = self.ask("works", release(ticket)).await;
        assert_eq!(released.unwrap(), Reply::Released { free: 1 });
    }

    pub(crate) async fn end(mut self) {
        self.store.close();
        timeout(LONG, self.driver).await.unwrap().unwrap();
        assert!(self.events.recv().await.is_none());
    }
}

pub(crate) fn lease(ticket: Ticket, counter: u64) -> Lease {
    Lease::of(ticket, counter, Duration::from_secs(10))
}

pub(crate) fn acquire(ticket: Ticket, mode: Mode) -> Op {
    Op::Acquire {
        lease: lease(ticket, 1),
        share: Share::MUTEX,
        mode,
        meta: "host 1 site".into(),
    }
}

pub(crate) fn touch(ticket: Ticket, counter: u64) -> Op {
    Op::Touch {
        lease: lease(ticket, counter),
        units: 0,
    }
}

pub(crate) fn release(ticket: Ticket) -> Op {
    Op::Release {
        ticket,
        park: Duration::ZERO,
        tomb: false,
        used: 0,
    }
}
