//! [`Links`]: the [`Servers`] of a client, and what every transition reads of them without their mutex.

use auto_mutex_protocol::client::{Changed, Outage, Servers};

use crate::base::clock;
use crate::base::sync::Mutex;
use crate::base::sync::atomic::{AtomicBool, Ordering};
use crate::base::wait::lock;
use crate::store::{Closed, Limits, Node, NodeChange};

#[derive(Debug, Default)]
pub(crate) struct Links {
    servers: Mutex<Servers>,
    any_down: AtomicBool,
    any_closed: AtomicBool,
}

impl Links {
    pub(crate) fn note(&self, node: Node, change: NodeChange) -> Changed {
        self.change(|servers| servers.on(node, change, clock::now()))
    }

    /// Returns the number of nodes that were connected.
    pub(crate) fn all_gone(&self) -> i64 {
        self.change(Servers::all_gone)
    }

    fn change<T>(&self, change: impl FnOnce(&mut Servers) -> T) -> T {
        let mut servers = lock(&self.servers);
        let result = change(&mut servers);
        self.any_down.store(servers.any_down(), Ordering::Release);
        let any_closed = servers.any_closed();
        self.any_closed.store(any_closed, Ordering::Release);
        result
    }

    pub(crate) fn read<T>(&self, read: impl FnOnce(&Servers) -> T) -> T {
        read(&lock(&self.servers))
    }

    pub(crate) fn are_up(&self) -> bool {
        !self.any_down.load(Ordering::Acquire)
    }

    /// `node` is called before the mutex is locked, because the store may lock its own.
    pub(crate) fn outage(&self, node: impl FnOnce() -> Node) -> Option<Outage> {
        if self.are_up() {
            return None;
        }
        let node = node();
        self.read(|servers| servers.outage(node).cloned())
    }

    /// Like [`Servers::closed`].
    pub(crate) fn closed(&self, node: impl FnOnce() -> Node, limits: &Limits) -> Option<Closed> {
        if !self.any_closed.load(Ordering::Acquire) {
            return None;
        }
        let node = node();
        self.change(|servers| servers.closed(node, clock::now(), limits))
    }
}
