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
    /// Whether any server is disconnected or closed.
    any_trouble: AtomicBool,
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
        let any = servers.any_down() || servers.any_closed();
        self.any_trouble.store(any, Ordering::Release);
        result
    }

    pub(crate) fn read<T>(&self, read: impl FnOnce(&Servers) -> T) -> T {
        read(&lock(&self.servers))
    }

    /// When the outage of a server began, and its cause; and why and until when it is closed. `node` is called before the
    /// mutex is locked, because the store may lock its own.
    pub(crate) fn trouble(
        &self,
        node: impl FnOnce() -> Node,
        limits: &Limits,
    ) -> (Option<Outage>, Option<Closed>) {
        if !self.any_trouble.load(Ordering::Acquire) {
            return (None, None);
        }
        let node = node();
        self.change(|servers| {
            let closed = servers.closed(node, clock::now(), limits);
            (servers.outage(node).cloned(), closed)
        })
    }
}
