//! [`Pipeline`]: where callers and the engine meet.
//!
//! A caller's request becomes bytes in one buffer and an entry in one list, under one lock. Who writes the buffer:
//!
//! - Little is under way: the caller, at once, on its own thread. No other has to be woken.
//! - Much is under way: the engine, which is woken for it; what others submit until it runs shares the write.
//! - The engine is about to look here anyway, since it just read something: it also takes what nobody waits for, a
//!   release, and what it asks for itself; both so share a write with what the tasks submit that it has just woken.
//!
//! Nobody holds the lock while he writes, and only one writes at a time: what is submitted meanwhile is his to go on
//! with, or to leave to the engine.

mod caller;
mod engine;

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::Waker;
use std::thread::{self, ThreadId};

use super::command;
use super::connect::Connector;
use super::scripts::Scripts;
use super::sending::{Awaited, Sending};
use super::shard_channels::ShardChannels;
use super::term::{Guard, Term};
use crate::store::{MemberId, Op, Request};
use crate::sync::{Mutex, MutexGuard};
use crate::wait::lock;
use crate::wire::{self, Outbox};

/// How much may be under way, and not yet written, before requests wait as such.
const MOST: usize = 8192;
const ROOM: usize = 256 << 10;
/// How many entries a list may stay large enough for after a burst.
const KEPT: usize = 1024;
/// How often the one who writes goes on with what came meanwhile.
const ROUNDS: u32 = 2;

#[derive(Debug)]
pub(super) struct Pipeline {
    pub(super) scripts: Arc<Scripts>,
    pub(super) member: MemberId,
    pub(super) guard: Guard,
    state: Mutex<State>,
    /// How many replies are still to come.
    under_way: AtomicUsize,
    /// Something was submitted and nobody has looked at it.
    touched: AtomicBool,
}

#[derive(Debug)]
struct State {
    out: Outbox,
    /// In the order of the bytes; what the engine has not taken over yet.
    awaited: VecDeque<Awaited>,
    /// Where the last command begins and ends in what nobody has taken to write.
    last: (usize, usize),
    /// What there is no room for now, or no connection.
    waiting: VecDeque<Request>,
    /// The store takes no more.
    closed: bool,
    /// New requests wait until others were written again.
    held: bool,
    /// The engine will look here before it sleeps.
    due: bool,
    /// The engine's thread.
    reader: Option<ThreadId>,
    /// Somebody waits for what is not written.
    urgent: bool,
    /// Something was written since the last look.
    wrote: bool,
    failed: Option<io::Error>,
    /// From when on the server grants.
    term: Term,
    /// As a node of a cluster.
    shard_channels: Option<ShardChannels>,
    engine: Option<Waker>,
}

impl Pipeline {
    pub(super) fn new(connector: &Connector) -> Self {
        let mut out = Outbox::default();
        out.open(None);
        let state = State {
            out,
            awaited: VecDeque::new(),
            last: (0, 0),
            waiting: VecDeque::new(),
            closed: false,
            held: false,
            // It has not begun yet.
            due: true,
            reader: None,
            urgent: false,
            wrote: false,
            failed: None,
            term: Term::default(),
            shard_channels: connector
                .scripts
                .are_of_cluster()
                .then(|| ShardChannels::new(connector.member)),
            engine: None,
        };
        Self {
            scripts: connector.scripts.clone(),
            member: connector.member,
            guard: connector.guard.clone(),
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

    /// For the first time.
    fn begin(&self, state: &mut State, request: Request) {
        let sending = Sending::new(request);
        match state.take_back_for(&sending) {
            Some(release) => {
                let ops = [&release.request.op, &sending.request.op];
                self.evaluate(state, &sending, &ops);
                state.awaited.push_back(Awaited::Both([release, sending]));
            }
            None => self.append(state, sending),
        }
    }

    fn append(&self, state: &mut State, sending: Sending) {
        let asking = sending.asking;
        if asking {
            wire::command(state.out.filling(), |words| words.text("ASKING"));
            self.expect(state, Awaited::Asking);
        }
        let start = state.out.filling().len();
        self.evaluate(state, &sending, &[&sending.request.op]);
        let end = state.out.filling().len();
        self.expect(state, Awaited::Request(sending));
        // Nothing is put together with what needs a word before it.
        state.last = if asking { (0, 0) } else { (start, end) };
    }

    fn evaluate(&self, state: &mut State, sending: &Sending, ops: &[&Op]) {
        let opens = state.term.opens();
        let (name, out) = (&sending.request.name, state.out.filling());
        command::evaluate(out, &self.scripts, self.member, name, ops, opens);
    }

    fn expect(&self, state: &mut State, awaited: Awaited) {
        state.awaited.push_back(awaited);
        state.last = (0, 0);
        state.wrote = true;
        self.under_way.fetch_add(1, Ordering::Relaxed);
    }

    /// Has the engine look here.
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

    /// Writes what there is and what comes meanwhile; what the socket does not take is the engine's.
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

    /// Takes back the release of the same name that stands before `acquire`, if both can be one command.
    fn take_back_for(&mut self, acquire: &Sending) -> Option<Sending> {
        let (start, end) = std::mem::take(&mut self.last);
        let Some(Awaited::Request(release)) = self.awaited.back() else {
            return None;
        };
        let [first, second] = [&release.request, &acquire.request];
        let follow = first.name == second.name
            && matches!(first.op, Op::Release { .. })
            && matches!(second.op, Op::Acquire { .. });
        let out = self.out.filling();
        if !follow || start == end || out.len() != end {
            return None;
        }
        out.truncate(start);
        match self.awaited.pop_back() {
            Some(Awaited::Request(release)) => Some(release),
            _ => None,
        }
    }
}
