//! [`Member`]: a client of a World, with its connection to the store. It is the [`Store`] and the [`Driver`] of that
//! client.

use std::future::ready;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use auto_mutex_core::hook::{ClientCore, Cycle, Witness, Witnessed};
use auto_mutex_core::store::{
    Answer, Boxed, Driver, Events, Link, MemberId, Mutex, Name, Node, NodeChange, Request, Sent,
    Store, StoreOptions,
    clock::{self, Instant},
    deliver, first, lock, not_yet,
};
use auto_mutex_core::{Guarantees, SetupError, StoreError};
use tokio::sync::Notify;

use super::events::Happening;
use super::gate::others_first;
use super::world::Shared;

/// How late the copies of requests may arrive whose connection broke. The first choice is: not at all.
const LATE: [Duration; 4] = [
    Duration::MAX,
    Duration::ZERO,
    Duration::from_millis(50),
    Duration::from_secs(5),
];

pub(super) const RUNS: u8 = 0;
pub(super) const STANDS: u8 = 1;
pub(super) const DEAD: u8 = 2;

/// The connection of a client, and what is in flight, each with the time when it arrives. A message is the text on the
/// member's channel.
pub(super) struct Connection {
    pub(super) link: Link<Name, String, Instant>,
    /// The epoch of the server to which it is connected, or was.
    epoch: Option<u32>,
    is_cut: bool,
    breaks: bool,
    is_closing: bool,
}

pub(super) struct Member {
    pub(super) host: String,
    pub(super) id: MemberId,
    pub(super) options: StoreOptions,
    world: Weak<Shared>,
    /// The client, and its id.
    core: OnceLock<(u64, Weak<ClientCore>)>,
    pub(super) connection: Mutex<Connection>,
    /// Notified when there is something to send, or the connection changes.
    busy: Notify,
    state: AtomicU8,
    /// Notified when the host was suspended, resumed or killed.
    pub(super) changed: Notify,
}

/// The end of a step of the connection.
enum Step {
    Done,
    /// Nothing to do before this time.
    Waits(Option<Instant>),
    Over,
}

impl Member {
    pub(super) fn new(
        world: Weak<Shared>,
        host: &str,
        id: MemberId,
        options: StoreOptions,
    ) -> Arc<Self> {
        Arc::new(Self {
            host: host.to_owned(),
            id,
            options,
            world,
            core: OnceLock::new(),
            connection: Mutex::new(Connection {
                link: Link::new(false),
                epoch: None,
                is_cut: false,
                breaks: false,
                is_closing: false,
            }),
            busy: Notify::new(),
            state: AtomicU8::new(RUNS),
            changed: Notify::new(),
        })
    }

    pub(super) fn world(&self) -> Option<Arc<Shared>> {
        self.world.upgrade()
    }

    pub(super) fn core(&self) -> Option<Arc<ClientCore>> {
        let core = self.core.get().and_then(|core| core.1.upgrade());
        core.filter(|_| !self.is_dead())
    }

    pub(super) fn is_client(&self, id: u64) -> bool {
        self.core.get().is_some_and(|core| core.0 == id)
    }

    /// Connects the client, if the store can be reached, before the first call can come.
    pub(super) fn begin(self: &Arc<Self>, core: &Arc<ClientCore>) {
        let _ = self.core.set((core.id(), Arc::downgrade(core)));
        let witness: Weak<Self> = Arc::downgrade(self);
        core.set_witness(witness);
        self.step(&**core);
        if !lock(&self.connection).link.connected {
            core.node_changed(Node::ONLY, NodeChange::Disconnected(not_yet()));
        }
    }

    pub(super) fn is_dead(&self) -> bool {
        self.state() == DEAD
    }

    pub(super) fn state(&self) -> u8 {
        self.state.load(Ordering::Acquire)
    }

    fn set(&self, state: u8) {
        if !self.is_dead() {
            self.state.store(state, Ordering::Release);
            self.changed.notify_waiters();
        }
    }

    pub(super) fn suspend(&self) {
        self.set(STANDS);
    }

    pub(super) fn resume(&self) {
        self.set(RUNS);
    }

    pub(super) fn kill(&self) {
        self.set(DEAD);
    }

    pub(super) fn cut(&self, is_cut: bool) {
        lock(&self.connection).is_cut = is_cut;
        self.look();
    }

    pub(super) fn look(&self) {
        self.busy.notify_one();
    }

    /// Whether it is connected to the server of this epoch.
    pub(super) fn hears(&self, epoch: Option<u32>) -> bool {
        self.is_on(&lock(&self.connection), epoch)
    }

    fn is_on(&self, connection: &Connection, epoch: Option<u32>) -> bool {
        connection.link.connected && connection.epoch == epoch && !self.is_dead()
    }

    /// Sends it a message of the server of this epoch, if it is connected to that.
    pub(super) fn tell(&self, epoch: Option<u32>, at: Instant, text: String) {
        let mut connection = lock(&self.connection);
        if self.is_on(&connection, epoch) {
            connection.link.tell(text, at);
            self.look();
        }
    }

    fn execute(&self, world: &Shared, request: Request) {
        let failure = world.failure(&request.op);
        let breaks = failure.as_ref().is_some_and(StoreError::is_disconnected);
        // The reply of a connection that breaks is lost; whether the request is, is left to chance.
        let runs = failure.is_none() || breaks && world.below(2) == 1;
        let reply = runs.then(|| world.execute(self, &request.name, &request.op));
        let result = match (failure, reply) {
            (None, Some(reply)) => Ok(reply),
            (failure, _) => Err(failure.unwrap_or_else(down)),
        };
        let at = clock::now().after(world.delay());
        let mut connection = lock(&self.connection);
        connection.breaks |= breaks;
        let answer = Answer { request, result };
        connection.link.answers.push_back((answer, at));
    }

    /// Breaks the connection. Requests in flight may still arrive, but late.
    pub(super) fn break_off(
        &self,
        events: &dyn Events,
        late: impl FnMut(Instant) -> Option<Instant>,
    ) {
        let unanswered = lock(&self.connection).link.break_off(late);
        let error = StoreError::disconnected("the connection to the lock store broke");
        events.node_changed(Node::ONLY, NodeChange::Disconnected(error.clone()));
        for request in unanswered {
            events.answered(request.failed(error.clone()));
        }
    }

    fn step(&self, events: &dyn Events) -> Step {
        let Some(world) = self.world() else {
            return Step::Over;
        };
        let (now, epoch) = (clock::now(), world.epoch());
        let mut connection = lock(&self.connection);
        let reached = epoch.filter(|_| !connection.is_cut);
        let breaks = connection.breaks || connection.epoch != reached;
        if connection.link.connected && breaks {
            connection.breaks = false;
            drop(connection);
            self.break_off(events, |_| {
                let late = LATE[world.below(LATE.len() as u64) as usize];
                (late < Duration::MAX).then(|| now.after(late))
            });
            return Step::Done;
        }
        if !connection.link.connected && reached.is_some() {
            connection.link.connected = true;
            let again = std::mem::replace(&mut connection.epoch, reached).is_some();
            drop(connection);
            let closed = NodeChange::Closed(world.closed());
            events.node_changed(Node::ONLY, closed);
            events.node_changed(Node::ONLY, NodeChange::Connected { again });
            return Step::Done;
        }
        let next = connection.link.next();
        let due = (0..next.len()).filter(|kind| next[*kind].is_some_and(|at| at <= now));
        let due: Vec<_> = due.collect();
        if due.is_empty() {
            return match connection.is_closing && connection.link.unanswered() == 0 {
                true => Step::Over,
                false => Step::Waits(next.into_iter().flatten().min()),
            };
        }
        let kind = due[world.below(due.len() as u64) as usize];
        let sent = connection.link.take(kind);
        drop(connection);
        match sent {
            Some(Sent::Request(request)) => self.execute(&world, request),
            Some(Sent::Answer(answer)) => events.answered(answer),
            Some(Sent::Message(text)) => drop(deliver(events, &text)),
            // The server that it was sent to may be gone.
            Some(Sent::Late(name, op)) if epoch.is_some() => drop(world.execute(self, &name, &op)),
            _ => {}
        }
        Step::Done
    }

    async fn drive(&self, events: &dyn Events) {
        loop {
            match self.step(events) {
                Step::Over => return,
                Step::Done => others_first().await,
                Step::Waits(None) => self.busy.notified().await,
                Step::Waits(Some(at)) => {
                    let wait = tokio::time::sleep(clock::now().until(at));
                    first(self.busy.notified(), wait).await;
                }
            }
        }
    }
}

fn down() -> StoreError {
    StoreError::disconnected("the lock store cannot be reached")
}

impl Store for Member {
    fn submit(&self, request: Request) -> Option<Answer> {
        let mut connection = lock(&self.connection);
        if connection.is_closing || self.is_dead() {
            return Some(request.failed(down()));
        }
        let delay = self.world().map_or(Duration::ZERO, |world| world.delay());
        let at = clock::now().after(delay);
        let failed = connection.link.send(request, at);
        drop(connection);
        self.look();
        failed.map(|request| request.failed(down()))
    }

    fn close(&self) {
        lock(&self.connection).is_closing = true;
        self.look();
    }

    fn guarantees(&self) -> Guarantees {
        Guarantees::of_memory()
    }
}

impl Witness for Member {
    fn waits(&self, name: &Name) {
        if let Some(world) = self.world() {
            world.check_thread(&self.host);
            world.note(&self.host, name.as_str(), Happening::Waits, None);
        }
    }

    fn began(&self, hold: &Witnessed) {
        if let Some(world) = self.world() {
            world.began(&self.host, hold);
        }
    }

    fn aborts(&self) {
        self.kill();
    }

    fn deadlock(&self, cycle: &Cycle) {
        let Some(world) = self.world() else {
            return;
        };
        for step in &cycle.steps {
            let (name, token) = (step.name.as_str(), Some(step.hold.token));
            if let Some(holder) = world.member(step.member) {
                world.note(&holder.host, name, Happening::Deadlock, token);
            }
        }
    }

    fn ended(&self, hold: &Witnessed) {
        if let Some(world) = self.world() {
            world.ended(&self.host, hold);
        }
    }
}

/// The driver of a [`Member`].
pub(super) struct Line(pub(super) Arc<Member>);

impl Driver for Line {
    fn open(&mut self, _: Duration) -> Boxed<'_, Result<(), SetupError>> {
        Box::pin(ready(Ok(())))
    }

    fn run(self: Box<Self>, events: Arc<dyn Events>) -> Boxed<'static, ()> {
        Box::pin(async move { self.0.drive(&*events).await })
    }
}
