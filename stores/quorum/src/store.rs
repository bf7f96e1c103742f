//! [`QuorumStore`]: queues requests from any thread, and events of the nodes, for the background thread.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::Mutex;

use auto_mutex_seam::store::{
    Answer, Events, Message, Name, Node, NodeChange, Request, ServerHealth, Store, Ticket,
    WAKE_QUEUE, lock,
    quorum::{Input, majority},
};
use auto_mutex_seam::{Guarantees, StoreError};
use tokio::sync::Notify;

pub(crate) struct QuorumStore {
    pub(super) nodes: Vec<Arc<dyn Store>>,
    inbox: Mutex<Inbox>,
    pub(super) changed: Notify,
}

#[derive(Debug, Default)]
struct Inbox {
    inputs: VecDeque<Input<Name>>,
    closed: bool,
}

impl QuorumStore {
    pub(super) fn new(nodes: Vec<Arc<dyn Store>>) -> Self {
        Self {
            nodes,
            inbox: Mutex::default(),
            changed: Notify::new(),
        }
    }

    /// The flag is `false` once [`Store::close`] was called.
    pub(super) fn take(&self) -> (VecDeque<Input<Name>>, bool) {
        let mut inbox = lock(&self.inbox);
        (std::mem::take(&mut inbox.inputs), !inbox.closed)
    }
}

impl Store for QuorumStore {
    fn guarantees(&self) -> Guarantees {
        let nodes = self.nodes.iter().map(|node| node.guarantees());
        let known: Vec<_> = nodes.filter(Guarantees::are_known).collect();
        if known.len() < majority(self.nodes.len()) {
            return Guarantees::unknown();
        }
        // Any node may complete another majority.
        let mut guarantees = Guarantees::weakest(known);
        guarantees.fifo = false;
        guarantees
    }

    fn servers(&self) -> Vec<ServerHealth> {
        self.nodes.iter().flat_map(|node| node.servers()).collect()
    }

    fn submit(&self, request: Request) -> Option<Answer> {
        let mut inbox = lock(&self.inbox);
        if inbox.closed {
            let error = StoreError::disconnected("the connections are closed");
            return Some(request.failed(error));
        }
        inbox.inputs.push_back(Input::Asked(request));
        None
    }

    fn flush(&self) {
        let empty = lock(&self.inbox).inputs.is_empty();
        if !empty {
            self.changed.notify_one();
        }
    }

    fn close(&self) {
        lock(&self.inbox).closed = true;
        self.changed.notify_one();
    }
}

pub(super) struct Listener {
    pub(super) node: usize,
    pub(super) store: Arc<QuorumStore>,
    pub(super) events: Arc<dyn Events>,
}

impl Listener {
    fn push(&self, input: Input<Name>) {
        lock(&self.store.inbox).inputs.push_back(input);
        self.store.changed.notify_one();
    }
}

impl Events for Listener {
    fn answered(&self, answer: Answer) {
        let node = self.node;
        self.push(Input::Answered { node, answer });
    }

    /// In a wake queue, the member's tickets are those of the lock.
    fn ticket(&self, name: &Name, public: u64) -> Option<Ticket> {
        match name.before(WAKE_QUEUE).map(Name::from_escaped) {
            Some(name) => self.events.ticket(&name, public),
            None => self.events.ticket(name, public),
        }
    }

    fn told(&self, name: &Name, message: Message) {
        let (node, name) = (self.node, name.clone());
        self.push(Input::Told {
            node,
            name,
            message,
        });
    }

    fn node_changed(&self, _: Node, change: NodeChange) {
        let node = self.node;
        self.push(Input::Changed { node, change });
    }
}
