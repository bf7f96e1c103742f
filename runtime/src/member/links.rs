//! [`Links`]: whether the servers of the store can be reached, and whether they grant.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use crate::clock::Instant;
use crate::error::StoreError;
use crate::store::{GrantBlock, Node};
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::wait::lock;

/// The state of the connections, as the store's driver reports it.
#[derive(Debug, Default)]
pub(crate) struct Links {
    // An atomic outside of the mutex, because every transition reads it.
    any_down: AtomicBool,
    outages: Mutex<HashMap<Node, (Instant, StoreError)>>,
    /// The nodes that are connected.
    connected: Mutex<HashSet<Node>>,
    any_closed: AtomicBool,
    closings: Mutex<HashMap<Node, GrantBlock>>,
    /// The last cause of any outage, and when it was reported.
    last: Mutex<Option<(Instant, StoreError)>>,
}

/// After a store begins to grant again, requests that were sent before may stay unanswered for this time.
const ANSWERED: Duration = Duration::from_millis(200);

impl Links {
    /// Notes that `node` is connected. Returns the change of the number of connected nodes, like all methods here that
    /// return a number.
    pub(crate) fn up(&self, node: Node) -> i64 {
        self.no_outage(node);
        i64::from(lock(&self.connected).insert(node))
    }

    /// Notes that `node` is no longer used.
    pub(crate) fn gone(&self, node: Node) -> i64 {
        self.no_outage(node);
        -i64::from(lock(&self.connected).remove(&node))
    }

    /// Notes that no node is connected, because the engine has ended.
    pub(crate) fn all_gone(&self) -> i64 {
        let connected = std::mem::take(&mut *lock(&self.connected));
        -i64::try_from(connected.len()).unwrap_or(i64::MAX)
    }

    fn no_outage(&self, node: Node) {
        let mut outages = lock(&self.outages);
        outages.remove(&node);
        self.any_down.store(!outages.is_empty(), Ordering::Release);
    }

    pub(crate) fn down(&self, node: Node, error: StoreError) -> i64 {
        *lock(&self.last) = Some((Instant::now(), error.clone()));
        let mut outages = lock(&self.outages);
        outages
            .entry(node)
            .or_insert_with(|| (Instant::now(), error));
        self.any_down.store(true, Ordering::Release);
        drop(outages);
        -i64::from(lock(&self.connected).remove(&node))
    }

    /// Notes a new cause of the outage of `node`.
    pub(crate) fn still_down(&self, node: Node, error: StoreError) {
        if let Some(outage) = lock(&self.outages).get_mut(&node) {
            outage.1 = error.clone();
            *lock(&self.last) = Some((Instant::now(), error));
        }
    }

    /// How many nodes there are, connected or not.
    pub(crate) fn nodes(&self) -> usize {
        let outages = lock(&self.outages).len();
        outages + lock(&self.connected).len()
    }

    /// Whether every node is connected.
    pub(crate) fn are_up(&self) -> bool {
        !self.any_down.load(Ordering::Acquire)
    }

    /// The last cause of an outage, which may be over, and when it was reported.
    pub(crate) fn last_error(&self) -> Option<(Instant, StoreError)> {
        lock(&self.last).clone()
    }

    /// Of the [`GrantBlock`]s of all nodes, returns the one that ends last; `None` if all nodes grant.
    pub(crate) fn longest_closing(&self, now: Instant) -> Option<GrantBlock> {
        let closings = lock(&self.closings);
        let closed = closings.values().filter(|closing| now < closing.until);
        closed.max_by_key(|closing| closing.until).copied()
    }

    /// The start and the cause of the outage of `node`; `None` if `node` can be reached.
    pub(crate) fn outage(&self, node: impl FnOnce() -> Node) -> Option<(Instant, StoreError)> {
        if !self.any_down.load(Ordering::Acquire) {
            return None;
        }
        // The node is computed before the mutex is locked, because the store may lock a mutex of its own.
        let node = node();
        lock(&self.outages).get(&node).cloned()
    }

    /// Notes that `node` grants nothing while `closing` lasts; `None`: `node` grants.
    pub(crate) fn closed(&self, node: Node, closing: Option<GrantBlock>) {
        let mut closings = lock(&self.closings);
        match closing {
            Some(closing) => closings.insert(node, closing),
            None => closings.remove(&node),
        };
        self.any_closed
            .store(!closings.is_empty(), Ordering::Release);
    }

    /// The [`GrantBlock`] of `node`: until when and why the node grants nothing. It is still returned for [`ANSWERED`]
    /// after its end.
    pub(crate) fn closing(&self, node: impl FnOnce() -> Node) -> Option<GrantBlock> {
        if !self.any_closed.load(Ordering::Acquire) {
            return None;
        }
        let node = node();
        let mut closings = lock(&self.closings);
        let now = Instant::now();
        closings.retain(|_, closing| now < closing.until.after(ANSWERED));
        self.any_closed
            .store(!closings.is_empty(), Ordering::Release);
        closings.get(&node).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Cause;

    #[test]
    fn an_outage_keeps_its_beginning_and_tells_its_last_cause() {
        let (links, node) = (Links::default(), Node::ONLY);
        let outage = || links.outage(|| node);
        links.still_down(node, StoreError::disconnected("not down at all"));
        assert!(outage().is_none());
        links.down(
            node,
            StoreError::disconnected("the server closed the connection"),
        );
        let since = outage().unwrap().0;
        links.still_down(node, StoreError::disconnected("WRONGPASS"));
        let (same, cause) = outage().unwrap();
        assert_eq!((same, cause.to_string().as_str()), (since, "WRONGPASS"));
        links.up(node);
        assert!(outage().is_none());
    }

    #[test]
    fn each_connection_counts_once() {
        let links = Links::default();
        let gone = || StoreError::disconnected("gone");
        assert_eq!(links.down(Node(1), gone()), 0);
        assert_eq!((links.up(Node(1)), links.up(Node(1))), (1, 0));
        assert_eq!((links.up(Node(2)), links.up(Node(3))), (1, 1));
        assert_eq!(
            (links.down(Node(1), gone()), links.down(Node(1), gone())),
            (-1, 0)
        );
        assert_eq!((links.gone(Node(2)), links.gone(Node(2))), (-1, 0));
        assert_eq!((links.all_gone(), links.all_gone()), (-1, 0));
    }

    #[test]
    fn a_closed_node_is_closed_until_it_opens() {
        let links = Links::default();
        let closing = |until| GrantBlock {
            until,
            cause: Cause::Failover,
        };
        let long = closing(Instant::now().after(Duration::from_secs(60)));
        links.closed(Node(1), Some(long));
        links.closed(Node(2), Some(closing(Instant::START)));
        assert_eq!(links.closing(|| Node(1)), Some(long));
        assert_eq!(links.closing(|| Node(2)), None);
        links.closed(Node(1), None);
        assert_eq!(links.closing(|| Node(1)), None);
        assert!(!links.any_closed.load(Ordering::Acquire));
    }

    #[test]
    fn an_outage_of_one_node_is_none_of_another() {
        let links = Links::default();
        links.down(Node(1), StoreError::disconnected("gone"));
        links.down(Node(2), StoreError::disconnected("gone too"));
        links.up(Node(1));
        assert!(links.outage(|| Node(1)).is_none());
        assert!(links.outage(|| Node(2)).is_some());
    }
}
