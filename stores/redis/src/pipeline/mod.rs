//! [`Pipeline`]: requests of callers and the background thread become bytes in a buffer, and entries in a list, under
//! one mutex. One thread at a time writes, without the mutex. With few requests in flight it is the caller, so that no
//! thread must be woken; otherwise the background thread, so that requests of several threads share a write. Before it
//! sleeps, the background thread also writes releases, and the requests of tasks that it has just woken.

mod link;
#[cfg(feature = "replicas")]
mod replicas;
mod replies;
mod shard_channels;
#[cfg(repository)]
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::io;
use std::net::Shutdown;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::task::Waker;
use std::thread::{self, ThreadId};

use auto_mutex_net::Connects as _;
use auto_mutex_seam::store::{Answer, Op, Request, ServerHealth, Store, lock, not_yet};
use auto_mutex_seam::{Guarantees, StoreError};
use redis::Cmd;

use self::replies::{Awaited, Begins, Sending};
use self::shard_channels::ShardChannels;
use crate::connect::Connector;
use crate::connect::epoch::Epoch;
use crate::script::command::{self, Part};
use crate::wire::Outbox;

/// The limits of requests in flight and of bytes in the buffer. Beyond these, requests wait unencoded.
const MOST: usize = 8192;
const ROOM: usize = 256 << 10;
const KEPT: usize = 1024;
/// With at most this many requests in flight, the caller writes.
const FEW: usize = 4;
/// How many names one command may have, so that no run of the script takes long.
const MOST_NAMES: usize = 16;
/// So many bytes of complete commands are written at once, so that the server begins while more requests come.
const EARLY: usize = 4096;
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
    /// How many of these, at the end, are not encoded yet, because more requests may come for their command. And how
    /// many names they have.
    open: usize,
    names: usize,
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
    epoch: Epoch,
    shard_channels: ShardChannels,
    background: Option<Waker>,
}

impl Store for Pipeline {
    fn submit(&self, request: Request) -> Option<Answer> {
        let mut state = lock(&self.state);
        if state.closed {
            let error = StoreError::disconnected("the connection is closed");
            return Some(request.failed(error));
        }
        if state.is_new {
            return Some(request.unsent());
        }
        state.urgent |= !matches!(request.op, Op::Release { .. });
        if state.waiting.is_empty() && self.takes_more(&state) {
            self.begin(&mut state, request);
        } else {
            state.waiting.push_back(request);
        }
        self.touched.store(true, Ordering::Relaxed);
        None
    }

    fn flush(&self) {
        if !self.touched.load(Ordering::Relaxed) {
            return;
        }
        let mut state = lock(&self.state);
        self.touched.store(false, Ordering::Relaxed);
        if !state.waiting.is_empty() || state.out.is_stuck() {
            Self::wake(state);
        } else if state.out.len() >= EARLY && !state.out.is_taken() {
            self.write(state, false);
        } else if state.out.is_taken()
            || state.due && (!state.urgent || state.reader == Some(thread::current().id()))
        {
            // The current writer sends them, or the background thread before it sleeps, together with those of the
            // other tasks it has woken.
        } else if self.under_way.load(Ordering::Relaxed) <= FEW {
            self.write(state, true);
        } else {
            state.urgent = false;
            Self::wake(state);
        }
    }

    fn close(&self) {
        let mut state = lock(&self.state);
        state.closed = true;
        Self::wake(state);
    }

    fn guarantees(&self) -> Guarantees {
        self.connector.guarantees()
    }

    fn servers(&self) -> Vec<ServerHealth> {
        let address = self.connector.address();
        let state = lock(&self.state);
        let (down, closed) = (state.down.clone(), state.epoch.closed);
        vec![ServerHealth::new(address, down, closed)]
    }
}

impl Pipeline {
    pub(crate) fn new(connector: Connector) -> Self {
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

    /// Takes a request that another node has redirected with ASK. Returns the request if there is no room.
    pub(crate) fn ask(&self, request: Request) -> Option<Request> {
        let mut state = lock(&self.state);
        if state.closed || !state.waiting.is_empty() || !self.takes_more(&state) {
            return Some(request);
        }
        let mut sending = Sending::new(request);
        sending.asking = true;
        self.append(&mut state, sending);
        state.urgent = true;
        self.touched.store(true, Ordering::Relaxed);
        None
    }

    /// Requests in flight fail immediately. Whether they have run is unknown.
    pub(crate) fn cut(&self) {
        self.close();
        if let Some(stream) = &lock(&self.state).out.stream {
            stream.close(Shutdown::Both);
        }
    }

    fn takes_more(&self, state: &State) -> bool {
        state.out.stream.is_some()
            && !state.held
            && state.out.len() < ROOM
            && self.under_way.load(Ordering::Relaxed) < MOST
    }

    fn begin(&self, state: &mut State, request: Request) {
        let mut sending = Sending::new(request);
        if state.open > 0
            && let Some(Awaited::Request(last)) = state.awaited.back_mut()
            && last.begins != Begins::Nothing
            && can_merge(&last.request, &sending.request)
        {
            if let Op::Release { .. } = sending.request.op {
                std::mem::swap(&mut last.request, &mut sending.request);
            }
            sending.begins = Begins::Nothing;
            return self.push(state, sending);
        }
        self.append(state, sending);
    }

    /// Adds a request of another name to the open command, or opens a new one.
    fn append(&self, state: &mut State, mut sending: Sending) {
        let asking = sending.asking;
        let most = match self.connector.scripts.are_of_cluster() || !is_brief(&sending.request.op) {
            true => 1,
            false => MOST_NAMES,
        };
        if asking || state.names >= most {
            self.seal(state);
        }
        if asking {
            self.encode(state, Awaited::Unimportant, |cmd| cmd.arg("ASKING"));
        }
        sending.begins = match state.open {
            0 => Begins::Command,
            _ => Begins::Name,
        };
        state.names = if most == 1 {
            MOST_NAMES
        } else {
            state.names + 1
        };
        self.push(state, sending);
        if asking {
            // A command that needs an ASKING before it is never merged.
            self.seal(state);
        }
    }

    fn push(&self, state: &mut State, sending: Sending) {
        state.open += 1;
        self.expect(state, Awaited::Request(sending));
    }

    /// Encodes the open command.
    fn seal(&self, state: &mut State) {
        let open = std::mem::take(&mut state.open);
        state.names = 0;
        if open == 0 {
            return;
        }
        let first = command::until(state.epoch.opens());
        let (scripts, member) = (&self.connector.scripts, self.connector.member);
        let sendings = state.awaited.range(state.awaited.len() - open..);
        let parts = sendings.filter_map(|awaited| match awaited {
            Awaited::Request(sending) => Some(Part {
                name: &sending.request.name,
                op: &sending.request.op,
                joins: sending.begins == Begins::Nothing,
            }),
            _ => None,
        });
        state
            .out
            .encode(|cmd| command::evaluate(cmd, scripts, member, first, parts));
    }

    fn encode(
        &self,
        state: &mut State,
        awaited: Awaited,
        build: impl FnOnce(&mut Cmd) -> &mut Cmd,
    ) {
        self.seal(state);
        state.out.encode(build);
        self.expect(state, awaited);
    }

    fn expect(&self, state: &mut State, awaited: Awaited) {
        state.awaited.push_back(awaited);
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

    /// Leaves bytes that the socket doesn't take to the background thread, and the open command if that is not
    /// `sealed`.
    fn write<'a>(&'a self, mut state: MutexGuard<'a, State>, sealed: bool) {
        for _ in 0..ROUNDS {
            if sealed {
                self.seal(&mut state);
            }
            let Some(mut chunk) = state.out.take() else {
                break;
            };
            state.urgent &= !sealed;
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
        if state.open > 0 || state.out.len() > 0 || state.failed.is_some() {
            Self::wake(state);
        }
    }
}

/// Whether the operation takes the server about as long as most do. Others don't share a command with further names.
fn is_brief(op: &Op) -> bool {
    matches!(
        op,
        Op::Acquire { .. } | Op::Touch { .. } | Op::Release { .. }
    )
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
