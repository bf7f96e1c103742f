//! [`Inbox`]: what callers and nodes have to say, until the engine takes it.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::sync::Notify;

use crate::error::StoreError;
use crate::name::Name;
use crate::store::{Answer, Closing, Events, Message, Node, Request};
use crate::sync::Mutex;
use crate::wait::lock;

/// What happened.
#[derive(Debug)]
pub(super) enum Input {
    /// The member asks.
    Asked(Request),
    /// A node answers.
    Answered(usize, Answer),
    Told(usize, Name, Message),
    Up(usize),
    /// It grants nothing until then; `None`: it grants.
    Closed(usize, Option<Closing>),
    Down(usize, StoreError),
    StillDown(usize, StoreError),
}

#[derive(Debug, Default)]
pub(super) struct Inbox {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    inputs: VecDeque<Input>,
    /// The member asks for nothing more.
    closed: bool,
}

impl Inbox {
    /// Takes a request, or gives it back if the store is closed.
    pub(super) fn submit(&self, request: Request) -> Option<Request> {
        let mut state = lock(&self.state);
        if state.closed {
            return Some(request);
        }
        state.inputs.push_back(Input::Asked(request));
        None
    }

    /// Has the engine look here, if there is anything.
    pub(super) fn flush(&self) {
        let empty = lock(&self.state).inputs.is_empty();
        if !empty {
            self.changed.notify_one();
        }
    }

    pub(super) fn close(&self) {
        lock(&self.state).closed = true;
        self.changed.notify_one();
    }

    fn push(&self, input: Input) {
        lock(&self.state).inputs.push_back(input);
        self.changed.notify_one();
    }

    /// All that there is, and whether the member will ask for more.
    pub(super) fn take(&self) -> (VecDeque<Input>, bool) {
        let mut state = lock(&self.state);
        (std::mem::take(&mut state.inputs), !state.closed)
    }

    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }
}

/// Listens to one node.
pub(super) struct Ear {
    node: usize,
    inbox: Arc<Inbox>,
}

impl Ear {
    pub(super) fn new(node: usize, inbox: Arc<Inbox>) -> Self {
        Self { node, inbox }
    }
}

impl Events for Ear {
    fn answered(&self, answer: Answer) {
        self.inbox.push(Input::Answered(self.node, answer));
    }

    fn told(&self, name: &Name, message: Message) {
        self.inbox
            .push(Input::Told(self.node, name.clone(), message));
    }

    fn connected(&self, _: Node, _: u64) {
        self.inbox.push(Input::Up(self.node));
    }

    fn disconnected(&self, _: Node, error: StoreError) {
        self.inbox.push(Input::Down(self.node, error));
    }

    fn closed(&self, _: Node, closing: Option<Closing>) {
        self.inbox.push(Input::Closed(self.node, closing));
    }

    fn still_disconnected(&self, _: Node, error: StoreError) {
        self.inbox.push(Input::StillDown(self.node, error));
    }
}
