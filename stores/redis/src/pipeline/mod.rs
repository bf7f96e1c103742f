//! [`Pipeline`]: the shared state of callers and the engine. A request becomes bytes in one buffer and an entry in one
//! list, under one lock. The buffer is written, by one thread at a time and without the lock:
//!
//! - With few requests in flight: by the caller, at once. No other thread must be woken.
//! - With many: by the engine. Requests that other threads submit before it runs share its write.
//! - After a read, before it sleeps: by the engine. This write has releases, for which no caller waits, and the
//!   requests of the tasks that it has just woken.

mod caller;
mod engine;

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::task::Waker;
use std::thread::{self, ThreadId};

use auto_mutex_core::StoreError;
use auto_mutex_core::store::{Name, Op, Request, lock, not_yet};

use super::command;
use super::connect::Connector;
use super::sending::{Awaited, Sending};
use super::shard_channels::ShardChannels;
use super::term::Term;
use crate::wire::Outbox;

/// The limits of requests in flight, and of bytes in the buffer. Beyond these limits, requests wait unencoded.
const MOST: usize = 8192;
const ROOM: usize = 256 << 10;
/// The capacity that a list may keep after a burst.
const KEPT: usize = 1024;
/// How often in a row a writer writes at most, because requests may arrive while it writes.
const ROUNDS: u32 = 2;

pub(crate) struct Pipeline {
    pub(super) connector: Connector,
    state: Mutex<State>,
    under_way: AtomicUsize,
    /// Whether a request was submitted since the last `flush`.
    touched: AtomicBool,
}

struct State {
    out: Outbox,
    /// What has no reply yet, in the order of the bytes, without what the engine has moved to its own list.
    awaited: VecDeque<Awaited>,
    /// The start and end of the last command, in the bytes that no writer has taken. Equal: the command cannot be taken back.
    last: (usize, usize),
    /// Requests without room in the pipeline, or without a connection.
    waiting: VecDeque<Request>,
    /// Whether the server has no request of this member yet, so that it knows none of its tickets.
    is_new: bool,
    closed: bool,
    /// Whether new requests wait until earlier ones were written again.
    held: bool,
    /// Whether the engine will check this state before it sleeps.
    due: bool,
    reader: Option<ThreadId>,
    /// Whether a caller waits for bytes that are not written yet.
    urgent: bool,
    wrote: bool,
    failed: Option<io::Error>,
    /// Why there is no connection; `None`: there is one.
    down: Option<StoreError>,
    term: Term,
    /// `None` unless the server is a node of a cluster.
    shard_channels: Option<ShardChannels>,
    engine: Option<Waker>,
}

impl Pipeline {
    pub(super) fn new(connector: Connector) -> Self {
        let mut out = Outbox::default();
        out.open(None);
        let state = State {
            out,
            awaited: VecDeque::new(),
            last: (0, 0),
            waiting: VecDeque::new(),
            is_new: !connector.is_known,
            closed: false,
            held: false,
            // The engine checks this state when it starts.
            due: true,
            reader: None,
            urgent: false,
            wrote: false,
            failed: None,
            down: Some(not_yet()),
            term: Term::default(),
            shard_channels: connector
                .scripts
                .are_of_cluster()
                .then(|| ShardChannels::new(connector.member)),
            engine: None,
        };
        Self {
            connector,
            state: Mutex::new(state),
            under_way: AtomicUsize::new(0),
            touched: AtomicBool::new(false),
        }
    }

    fn takes_more(&self, state: &State) -> bool {
        state.out.is_open()
            && !state.held
            && state.out.len() < ROOM
            && self.under_way.load(Ordering::Relaxed) < MOST
    }

    fn begin(&self, state: &mut State, request: Request) {
        let sending = Sending::new(request);
        match state.take_back_for(&sending) {
            Some(earlier) => {
                let both = match sending.request.op {
                    Op::Release { .. } => [sending, earlier],
                    _ => [earlier, sending],
                };
                let ops = [&both[0].request.op, &both[1].request.op];
                self.evaluate(state, &both[0].request.name, &ops);
                state.awaited.push_back(Awaited::Both(both));
            }
            None => self.append(state, sending),
        }
    }

    fn append(&self, state: &mut State, sending: Sending) {
        let asking = sending.asking;
        if asking {
            state.out.encode(|cmd| cmd.arg("ASKING"));
            self.expect(state, Awaited::Unimportant);
        }
        let start = state.out.filling().len();
        self.evaluate(state, &sending.request.name, &[&sending.request.op]);
        let end = state.out.filling().len();
        self.expect(state, Awaited::Request(sending));
        // A command that needs an ASKING before it is never merged with another.
        state.last = if asking { (0, 0) } else { (start, end) };
    }

    fn evaluate(&self, state: &mut State, name: &Name, ops: &[&Op]) {
        let opens = state.term.opens();
        let (scripts, member) = (&self.connector.scripts, self.connector.member);
        state
            .out
            .encode(|cmd| command::evaluate(cmd, scripts, member, name, ops, opens));
    }

    fn expect(&self, state: &mut State, awaited: Awaited) {
        state.awaited.push_back(awaited);
        state.last = (0, 0);
        state.wrote = true;
        self.under_way.fetch_add(1, Ordering::Relaxed);
    }

    fn wake(mut state: MutexGuard<'_, State>) {
        if !state.due {
            state.due = true;
            let engine = state.engine.clone();
            drop(state);
            if let Some(engine) = engine {
                engine.wake();
            }
        }
    }

    /// Also writes requests that arrive meanwhile. Bytes that the socket doesn't take are left to the engine.
    fn write<'a>(&'a self, mut state: MutexGuard<'a, State>) {
        for _ in 0..ROUNDS {
            let Some(mut chunk) = state.out.take() else {
                return;
            };
            state.urgent = false;
            drop(state);
            let written = chunk.write();
            state = lock(&self.state);
            if !state.out.put_back(chunk) {
                return;
            }
            if let Err(error) = written {
                state.failed = Some(error);
                break;
            }
            if state.out.is_stuck() {
                break;
            }
        }
        if state.out.len() > 0 || state.failed.is_some() {
            Self::wake(state);
        }
    }
}

impl State {
    fn is_reader(&self) -> bool {
        self.reader == Some(thread::current().id())
    }

    /// Takes back the last command in the buffer, if one command can have both operations.
    fn take_back_for(&mut self, next: &Sending) -> Option<Sending> {
        let (start, end) = std::mem::take(&mut self.last);
        let Some(Awaited::Request(last)) = self.awaited.back() else {
            return None;
        };
        let out = self.out.filling();
        if !can_merge(&last.request, &next.request) || start == end || out.len() != end {
            return None;
        }
        out.truncate(start);
        match self.awaited.pop_back() {
            Some(Awaited::Request(last)) => Some(last),
            _ => None,
        }
    }
}

/// Whether one command can run both, the release first. An acquire that was submitted first has no reply yet, so it may
/// run second if it can't share the lock: before the release, it would have to wait anyway.
fn can_merge(last: &Request, next: &Request) -> bool {
    let suit = match (&last.op, &next.op) {
        (Op::Release { .. }, Op::Acquire { .. }) => true,
        (acquire @ Op::Acquire { share, .. }, release @ Op::Release { .. }) => {
            share.excludes_all() && acquire.ticket() != release.ticket()
        }
        _ => false,
    };
    suit && last.name == next.name
}
