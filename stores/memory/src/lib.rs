//! The memory store: locks within one process. The rules are those of [`State`], which every other store is compared
//! with; here they have a mutex, a clock, and members who hear of each other.

mod engine;
#[cfg(all(test, repository))]
mod tests;

use std::collections::HashMap;
use std::future::ready;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime};

use tokio::sync::mpsc;

use auto_mutex_seam::store::{
    Answer, Boxed, Driver, Env, Events, LIMITS, MemberId, Message, Mutex, Name, NameMap, Node,
    NodeChange, PerProcess, Request, State, Store,
    clock::{self, Instant},
    lock,
};
use auto_mutex_seam::{Guarantees, SetupError};

/// Sweep after this many operations, or later if there are many names.
const SWEEP_EVERY: usize = 4096;

type Shared = std::sync::Mutex<HashMap<String, Weak<Space>>>;

static SHARED: PerProcess<Shared> = PerProcess::new(Shared::default);

#[derive(Debug)]
struct Space {
    inner: Mutex<Inner>,
    /// The wall clock at the start, in microseconds. The monotonic time since then is added.
    epoch_us: u64,
    started: Instant,
}

#[derive(Debug, Default)]
struct Inner {
    names: NameMap<State>,
    /// What an operation tells members.
    messages: Vec<(MemberId, Message)>,
    listeners: HashMap<MemberId, mpsc::UnboundedSender<(Name, Message)>>,
    operations: u32,
}

impl Space {
    fn new() -> Arc<Self> {
        let epoch = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        let epoch_us = u64::try_from(epoch.as_micros()).unwrap_or(0);
        Arc::new(Self {
            inner: Mutex::default(),
            epoch_us: epoch_us.max(LAST.load(Ordering::Acquire) + 1),
            started: clock::now(),
        })
    }

    fn named(name: &str) -> Arc<Self> {
        let mut shared = SHARED.lock();
        if let Some(space) = shared.get(name).and_then(Weak::upgrade) {
            return space;
        }
        shared.retain(|_, space| space.strong_count() > 0);
        let space = Self::new();
        shared.insert(name.to_owned(), Arc::downgrade(&space));
        space
    }

    fn of(shared: Option<&str>) -> Arc<Self> {
        shared.map_or_else(Self::new, Self::named)
    }

    fn now(&self) -> u64 {
        let nanos = clock::now()
            .as_nanos()
            .saturating_sub(self.started.as_nanos());
        self.epoch_us + nanos / 1000
    }
}

/// The highest token of all dropped stores. Tokens may run ahead of the clock, because each grant advances them by at
/// least a microsecond. A later store starts its clock after them.
static LAST: AtomicU64 = AtomicU64::new(0);

/// What a member hears.
#[doc(hidden)]
pub struct Heard(mpsc::UnboundedReceiver<(Name, Message)>);

/// The store as a member has it. Public for the tests of the locks.
#[doc(hidden)]
#[derive(Debug)]
pub struct MemoryStore {
    space: Arc<Space>,
    member: MemberId,
}

impl MemoryStore {
    /// With `None`, the store belongs to this member alone.
    pub fn open(shared: Option<&str>, member: MemberId) -> (Arc<Self>, Heard) {
        let space = Space::of(shared);
        let (sender, driver) = mpsc::unbounded_channel();
        lock(&space.inner).listeners.insert(member, sender);
        let store = Self { space, member };
        (Arc::new(store), Heard(driver))
    }

    /// Whether no ticket is in any name.
    #[cfg(shuttle)]
    pub fn is_idle(&self) -> bool {
        lock(&self.space.inner).names.values().all(State::is_idle)
    }
}

impl Drop for MemoryStore {
    fn drop(&mut self) {
        // Before the space is dropped, so that a new store of this name starts after these tokens.
        let last = lock(&self.space.inner)
            .names
            .values()
            .map(State::token)
            .max();
        LAST.fetch_max(last.unwrap_or(0), Ordering::AcqRel);
    }
}

impl Store for MemoryStore {
    fn guarantees(&self) -> Guarantees {
        Guarantees::of_memory()
    }

    fn submit(&self, request: Request) -> Option<Answer> {
        let mut inner = lock(&self.space.inner);
        // Read under the lock. Otherwise it could be earlier than the previous operation's time.
        let now = self.space.now();
        let Inner {
            names,
            listeners,
            messages,
            ..
        } = &mut *inner;
        let name = &request.name;
        let hears = |member| {
            let listener = listeners.get(&member);
            listener.is_some_and(|listener| !listener.is_closed())
        };
        let env = Env {
            now,
            grants_from: 0,
            member: self.member,
            limits: &LIMITS,
            hears: &hears,
        };
        // Clone the name only to insert it.
        let reply = match names.get_mut(name) {
            Some(state) => state.on(&request.op, &env, messages),
            None => {
                let mut state = State::default();
                let reply = state.on(&request.op, &env, messages);
                names.insert(name.clone(), state);
                reply
            }
        };
        for (member, message) in messages.drain(..) {
            if let Some(listener) = listeners.get(&member) {
                // Who stops listening now has asked for nothing that it relies on.
                let _ = listener.send((name.clone(), message));
            }
        }
        inner.count(now);
        drop(inner);
        Some(Answer {
            request,
            result: Ok(reply),
        })
    }

    fn close(&self) {
        lock(&self.space.inner).listeners.remove(&self.member);
    }
}

impl Inner {
    fn count(&mut self, now: u64) {
        self.operations += 1;
        if self.operations as usize >= SWEEP_EVERY.max(self.names.len() / 4) {
            self.operations = 0;
            self.names.retain(|_, state| {
                state.shrink();
                now < state.kept_until(&LIMITS)
            });
        }
    }
}

impl Driver for Heard {
    fn open(&mut self, _: Duration) -> Boxed<'_, Result<(), SetupError>> {
        Box::pin(ready(Ok(())))
    }

    fn run(mut self: Box<Self>, events: Arc<dyn Events>) -> Boxed<'static, ()> {
        Box::pin(async move {
            events.node_changed(Node::ONLY, NodeChange::Connected { again: false });
            while let Some((name, message)) = self.0.recv().await {
                events.told(&name, message);
            }
        })
    }
}
