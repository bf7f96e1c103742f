//! [`Member`]: a client of a World, with its connection to the store. It is the [`Store`] and the [`Driver`] of that
//! client.

use std::collections::{BTreeMap, VecDeque};
use std::future::ready;
use std::sync::{Arc, OnceLock, Weak};
use std::task::Waker;
use std::time::Duration;

use tokio::sync::Notify;

use super::events::Happening;
use super::world::Shared;
use crate::base::Boxed;
use crate::base::clock::Instant;
use crate::base::error::{SetupError, StoreError};
use crate::base::name::Name;
use crate::base::sync::Mutex;
use crate::base::sync::atomic::{AtomicU8, Ordering};
use crate::base::wait::{first, lock};
use crate::deadlock::Cycle;
use crate::queue::{ClientCore, Hold, Witness};
use crate::store::engine::Driver;
use crate::store::guarantees::Guarantees;
use crate::store::{Answer, Events, MemberId, Message, Node, NodeChange, Op, Request};
use crate::store::{Store, StoreOptions, not_yet};

/// How late the copies of requests may arrive whose connection broke. The first choice is: not at all.
const LATE: [Duration; 4] = [
    Duration::MAX,
    Duration::ZERO,
    Duration::from_millis(50),
    Duration::from_secs(5),
];

const RUNS: u8 = 0;
const STANDS: u8 = 1;
const DEAD: u8 = 2;

/// What is under way, each with the time when it arrives.
#[derive(Default)]
struct Link {
    requests: VecDeque<(Instant, Request)>,
    replies: VecDeque<(Instant, Answer)>,
    messages: VecDeque<(Instant, Name, Message)>,
    /// Copies of requests from broken connections.
    late: Vec<(Instant, Name, Op)>,
    /// The term of the server to which it is connected.
    term: Option<u32>,
    was_connected: bool,
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
    link: Mutex<Link>,
    changed: Notify,
    state: AtomicU8,
    /// The tasks that wait to run.
    tasks: Mutex<BTreeMap<u64, Waker>>,
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
            link: Mutex::default(),
            changed: Notify::new(),
            state: AtomicU8::new(RUNS),
            tasks: Mutex::default(),
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
        if lock(&self.link).term.is_none() {
            core.node_changed(Node::ONLY, NodeChange::Disconnected(not_yet()));
        }
    }

    pub(super) fn is_dead(&self) -> bool {
        self.state.load(Ordering::Acquire) == DEAD
    }

    /// Whether its tasks may run.
    pub(super) fn runs(&self) -> bool {
        self.state.load(Ordering::Acquire) == RUNS
    }

    /// Keeps the waker of a task; with `None`, forgets the task.
    pub(super) fn note_task(&self, task: u64, waker: Option<&Waker>) {
        let mut tasks = lock(&self.tasks);
        let last = match waker {
            Some(waker) => tasks.insert(task, waker.clone()),
            None => tasks.remove(&task),
        };
        drop(tasks);
        drop(last);
    }

    fn set(&self, state: u8) {
        if !self.is_dead() {
            self.state.store(state, Ordering::Release);
        }
        let tasks: Vec<_> = lock(&self.tasks).values().cloned().collect();
        tasks.into_iter().for_each(Waker::wake);
    }

    /// What it has sent is executed all the same.
    pub(super) fn suspend(&self) {
        if let Some(world) = self.world() {
            self.send_all(&world);
        }
        self.set(STANDS);
    }

    pub(super) fn resume(&self) {
        self.set(RUNS);
    }

    pub(super) fn kill(&self) {
        if let Some(world) = self.world() {
            self.send_all(&world);
        }
        self.set(DEAD);
    }

    fn send_all(&self, world: &Shared) {
        loop {
            let mut link = lock(&self.link);
            let next = match link.term {
                Some(_) => link.requests.pop_front(),
                None => None,
            };
            drop(link);
            let Some((_, request)) = next else {
                return;
            };
            self.execute(world, request);
        }
    }

    pub(super) fn cut(&self, is_cut: bool) {
        lock(&self.link).is_cut = is_cut;
        self.look();
    }

    pub(super) fn look(&self) {
        self.changed.notify_one();
    }

    /// Returns `false` if it is not connected to the server of this term.
    pub(super) fn tell(
        &self,
        term: Option<u32>,
        at: Instant,
        name: &Name,
        message: Message,
    ) -> bool {
        let mut link = lock(&self.link);
        let hears = link.term.is_some() && link.term == term && !self.is_dead();
        if hears {
            link.messages.push_back((at, name.clone(), message));
            drop(link);
            self.look();
        }
        hears
    }

    fn execute(&self, world: &Shared, request: Request) {
        let result = match world.failure(&request.op) {
            Some(error) if error.is_disconnected() => {
                // The reply is lost; whether the request is, is left to chance.
                if world.below(2) == 1 {
                    world.execute(self, &request.name, &request.op);
                }
                lock(&self.link).breaks = true;
                Err(error)
            }
            Some(error) => Err(error),
            None => Ok(world.execute(self, &request.name, &request.op)),
        };
        let at = Instant::now().after(world.delay());
        let answer = Answer { request, result };
        lock(&self.link).replies.push_back((at, answer));
    }

    /// Everything of a broken connection that has no answer.
    fn break_link(&self, world: &Shared, link: &mut Link) -> Vec<Request> {
        (link.term, link.breaks) = (None, false);
        link.messages.clear();
        let replies = std::mem::take(&mut link.replies).into_iter();
        let mut unanswered: Vec<_> = replies.map(|(_, answer)| answer.request).collect();
        for (_, request) in std::mem::take(&mut link.requests) {
            let late = LATE[world.below(LATE.len() as u64) as usize];
            if late < Duration::MAX {
                let at = Instant::now().after(late);
                link.late
                    .push((at, request.name.clone(), request.op.clone()));
            }
            unanswered.push(request);
        }
        unanswered
    }

    fn step(&self, events: &dyn Events) -> Step {
        let Some(world) = self.world() else {
            return Step::Over;
        };
        let (now, term) = (Instant::now(), world.term());
        let mut link = lock(&self.link);
        let reached = term.filter(|_| !link.is_cut);
        match (link.term, reached) {
            (Some(term), reached) if link.breaks || reached != Some(term) => {
                let unanswered = self.break_link(&world, &mut link);
                drop(link);
                let error = StoreError::disconnected("the connection to the lock store broke");
                events.node_changed(Node::ONLY, NodeChange::Disconnected(error.clone()));
                for request in unanswered {
                    events.answered(request.failed(error.clone()));
                }
                return Step::Done;
            }
            (None, Some(term)) => {
                let unsent = std::mem::take(&mut link.requests);
                link.term = Some(term);
                let again = std::mem::replace(&mut link.was_connected, true);
                drop(link);
                for (_, request) in unsent {
                    events.answered(request.failed(down()));
                }
                let closed = NodeChange::Closed(world.closed());
                events.node_changed(Node::ONLY, closed);
                events.node_changed(Node::ONLY, NodeChange::Connected { again });
                return Step::Done;
            }
            (None, None) => {
                if let Some((_, request)) = link.requests.pop_front() {
                    drop(link);
                    events.answered(request.failed(down()));
                    return Step::Done;
                }
            }
            _ => {}
        }
        if let Some(at) = link.late.iter().position(|late| late.0 <= now) {
            let (_, name, op) = link.late.remove(at);
            drop(link);
            // The server that it was sent to may be gone.
            if world.term().is_some() {
                world.execute(self, &name, &op);
            }
            return Step::Done;
        }
        let next = [
            link.requests.front().map(|next| next.0),
            link.replies.front().map(|next| next.0),
            link.messages.front().map(|next| next.0),
        ];
        let due = (0..3).filter(|kind| next[*kind].is_some_and(|at| at <= now));
        let due: Vec<_> = due.collect();
        if due.is_empty() {
            if link.is_closing && link.requests.is_empty() && link.replies.is_empty() {
                return Step::Over;
            }
            let late = link.late.iter().map(|late| late.0);
            return Step::Waits(next.into_iter().flatten().chain(late).min());
        }
        match due[world.below(due.len() as u64) as usize] {
            0 => {
                let request = link.requests.pop_front();
                drop(link);
                request
                    .into_iter()
                    .for_each(|it| self.execute(&world, it.1));
            }
            1 => {
                let answer = link.replies.pop_front();
                drop(link);
                answer.into_iter().for_each(|it| events.answered(it.1));
            }
            _ => {
                let message = link.messages.pop_front();
                drop(link);
                message.into_iter().for_each(|it| events.told(&it.1, it.2));
            }
        }
        Step::Done
    }

    async fn drive(&self, events: &dyn Events) {
        loop {
            match self.step(events) {
                Step::Over => return,
                // Others get their turn.
                Step::Done => tokio::task::yield_now().await,
                Step::Waits(None) => self.changed.notified().await,
                Step::Waits(Some(at)) => {
                    let wait = tokio::time::sleep(Instant::now().until(at));
                    first(self.changed.notified(), wait).await;
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
        let mut link = lock(&self.link);
        if link.is_closing || self.is_dead() {
            return Some(request.failed(down()));
        }
        let delay = self.world().map_or(Duration::ZERO, |world| world.delay());
        let at = Instant::now().after(delay);
        link.requests.push_back((at, request));
        drop(link);
        self.look();
        None
    }

    fn close(&self) {
        lock(&self.link).is_closing = true;
        self.look();
    }

    fn guarantees(&self) -> Guarantees {
        Guarantees::of_memory()
    }
}

impl Witness for Member {
    fn waits(&self, name: &Name) {
        if let Some(world) = self.world() {
            world.note(&self.host, name.as_str(), Happening::Waits, None);
        }
    }

    fn began(&self, hold: &Hold) {
        if let Some(world) = self.world() {
            world.began(&self.host, hold);
        }
    }

    fn deadlock(&self, cycle: &Cycle) {
        let Some(world) = self.world() else {
            return;
        };
        for step in &cycle.steps {
            let (name, token) = (step.name.as_str(), Some(step.hold.token));
            let members = world.all_members().into_iter();
            let holders = members.filter(|member| member.id == step.member);
            holders.for_each(|it| world.note(&it.host, name, Happening::Deadlock, token));
        }
    }

    fn ended(&self, hold: &Hold) {
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
