//! [`Pipeline`]: requests of callers and the background thread become bytes in a buffer, and entries in a list, under
//! one mutex. One thread at a time writes, without the mutex. With few requests in flight it is the caller, so that no
//! thread must be woken; otherwise the background thread, so that requests of several threads share a write. Before it
//! sleeps, the background thread also writes releases, and the requests of tasks that it has just woken.

mod background;
mod caller;
pub(crate) mod pending;

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::task::Waker;
use std::thread::ThreadId;

use auto_mutex_core::StoreError;
use auto_mutex_core::store::{Name, Op, Request, lock, not_yet};

use crate::connect::Connector;
use crate::connect::term::Term;
use crate::pipeline::pending::{Awaited, Sending};
use crate::script::command;
use crate::shard_channels::ShardChannels;
use crate::wire::Outbox;

/// The limits of requests in flight and of bytes in the buffer. Beyond these, requests wait unencoded.
const MOST: usize = 8192;
const ROOM: usize = 256 << 10;
const KEPT: usize = 1024;
/// How often in a row one writer writes. Requests may arrive while it does.
const ROUNDS: u32 = 2;

pub(crate) struct Pipeline {
    pub(super) connector: Connector,
    state: Mutex<State>,
    under_way: AtomicUsize,
    touched: AtomicBool,
}

#[derive(Default)]
struct State {
    out: Outbox,
    /// What awaits a reply, in the order of the bytes, except what the background thread has moved to its own list.
    awaited: VecDeque<Awaited>,
    /// Start and end of the last command, among the bytes that no writer has taken. Equal if it cannot be withdrawn.
    last: (usize, usize),
    waiting: VecDeque<Request>,
    is_new: bool,
    closed: bool,
    held: bool,
    /// Whether the background thread will check this state before it sleeps.
    due: bool,
    reader: Option<ThreadId>,
    urgent: bool,
    wrote: bool,
    failed: Option<io::Error>,
    down: Option<StoreError>,
    term: Term,
    shard_channels: ShardChannels,
    background: Option<Waker>,
}

impl Pipeline {
    pub(super) fn new(connector: Connector) -> Self {
        let mut state = State {
            is_new: connector.is_new,
            due: true,
            down: Some(not_yet()),
            ..State::default()
        };
        state.out.open(None);
        Self {
            connector,
            state: Mutex::new(state),
            under_way: AtomicUsize::new(0),
            touched: AtomicBool::new(false),
        }
    }

    fn takes_more(&self, state: &State) -> bool {
        state.out.stream().is_some()
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
        // A command that needs an ASKING before it is never merged.
        state.last = if asking { (0, 0) } else { (start, end) };
    }

    fn evaluate(&self, state: &mut State, name: &Name, ops: &[&Op]) {
        let first = command::until(state.term.opens());
        let (scripts, member) = (&self.connector.scripts, self.connector.member);
        state
            .out
            .encode(|cmd| command::evaluate(cmd, scripts, member, name, first, ops));
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
            let background = state.background.clone();
            drop(state);
            if let Some(background) = background {
                background.wake();
            }
        }
    }

    /// Leaves bytes that the socket doesn't take to the background thread.
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

/// Whether one command can run both, the release first. An acquire submitted first has no reply yet. It may run second
/// if it can't share the lock, because it would have to wait for the release anyway.
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
