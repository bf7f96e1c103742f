//! [`Links`]: the [`Servers`] of a client, and what every transition reads of them without their mutex.

use std::time::Duration;

use auto_mutex_protocol::client::{Changed, Outage, Servers};

use crate::base::clock::{self, Instant};
use crate::base::error::StoreError;
use crate::base::sync::Mutex;
use crate::base::sync::atomic::{AtomicBool, Ordering};
use crate::base::wait::lock;
use crate::store::{Closed, Limits, Node, NodeChange, Op, Reply};

#[derive(Debug, Default)]
pub(crate) struct Links {
    servers: Mutex<Servers>,
    /// Whether any server is disconnected or closed.
    any_trouble: AtomicBool,
    /// The last refusal of an acquire, if no later one was executed.
    refusal: Mutex<Option<Outage>>,
    refuses: AtomicBool,
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

    /// Remembers whether the store refuses acquires although it is connected: its memory or disk is full, for example.
    #[inline]
    pub(crate) fn note_refusal(&self, op: &Op, result: &Result<Reply, StoreError>, now: Instant) {
        let refusal = match result {
            _ if !matches!(op, Op::Acquire { .. }) => return,
            Ok(_) if !self.refuses.load(Ordering::Relaxed) => return,
            Ok(_) => None,
            Err(error) if error.is_refusal() => Some((now, error.clone())),
            Err(_) => return,
        };
        self.refuses.store(refusal.is_some(), Ordering::Relaxed);
        *lock(&self.refusal) = refusal;
    }

    /// The last refusal, if it is not older than `lease`.
    pub(crate) fn refusal(&self, now: Instant, lease: Duration) -> Option<Outage> {
        let refusal = lock(&self.refusal).clone();
        refusal.filter(|(at, _)| now < at.after(lease))
    }

    /// When the outage of a server began, and its cause; and why and until when it is closed. `node` is called before
    /// the mutex is locked, because the store may lock its own.
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
