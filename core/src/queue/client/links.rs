//! [`Links`]: whether the servers of the store can be reached, and whether they grant.

use std::collections::HashMap;
use std::time::Duration;

use crate::base::clock::{self, Instant};
use crate::base::error::StoreError;
use crate::base::sync::Mutex;
use crate::base::sync::atomic::{AtomicBool, Ordering};
use crate::base::wait::lock;
use crate::store::{Closed, Node, NodeChange};

#[derive(Debug, Default)]
pub(crate) struct Links {
    // An atomic outside the mutex, because every transition reads it.
    any_down: AtomicBool,
    /// The nodes in use, each with its outage if it is not connected.
    nodes: Mutex<HashMap<Node, Option<Outage>>>,
    any_closed: AtomicBool,
    closed: Mutex<HashMap<Node, Closed>>,
    last: Mutex<Option<Outage>>,
}

/// When the outage began, and its cause.
type Outage = (Instant, StoreError);

/// How long requests may stay unanswered after a store has begun to grant again.
const ANSWERED: Duration = Duration::from_millis(200);

impl Links {
    /// Returns by how much the number of connected nodes changed.
    pub(crate) fn note(&self, node: Node, change: NodeChange) -> i64 {
        let now = clock::now();
        let mut nodes = lock(&self.nodes);
        let before = connected(&nodes);
        match change {
            NodeChange::Connected { .. } => drop(nodes.insert(node, None)),
            NodeChange::Disconnected(error) => {
                *lock(&self.last) = Some((now, error.clone()));
                // Keep the time at which the outage began.
                let known = nodes.entry(node).or_default();
                known.get_or_insert((now, error));
            }
            NodeChange::StillDisconnected(error) => {
                if let Some(Some(outage)) = nodes.get_mut(&node) {
                    outage.1 = error.clone();
                    *lock(&self.last) = Some((now, error));
                }
            }
            NodeChange::Closed(closed) => self.set_closed(node, closed),
            NodeChange::Forgotten => {}
            NodeChange::Gone => {
                nodes.remove(&node);
                self.set_closed(node, None);
            }
        }
        let any_down = nodes.values().any(Option::is_some);
        self.any_down.store(any_down, Ordering::Release);
        connected(&nodes) - before
    }

    /// Returns the number of nodes that were connected.
    pub(crate) fn all_gone(&self) -> i64 {
        let mut nodes = lock(&self.nodes);
        let gone = connected(&nodes);
        nodes.retain(|_, outage| outage.is_some());
        gone
    }

    pub(crate) fn nodes(&self) -> usize {
        lock(&self.nodes).len()
    }

    pub(crate) fn are_up(&self) -> bool {
        !self.any_down.load(Ordering::Acquire)
    }

    /// The latest outage, which may be over.
    pub(crate) fn last_error(&self) -> Option<Outage> {
        lock(&self.last).clone()
    }

    pub(crate) fn longest_closed(&self, now: Instant) -> Option<Closed> {
        let all = lock(&self.closed);
        let closed = all.values().filter(|closed| now < closed.until);
        closed.max_by_key(|closed| closed.until).copied()
    }

    pub(crate) fn outage(&self, node: impl FnOnce() -> Node) -> Option<Outage> {
        if self.are_up() {
            return None;
        }
        // Before locking the mutex, because the store may lock its own mutex.
        let node = node();
        lock(&self.nodes).get(&node)?.clone()
    }

    /// Whether `node` was not known to be closed until now.
    pub(crate) fn is_news(&self, node: Node, closed: Closed, now: Instant) -> bool {
        let known = lock(&self.closed).get(&node).copied();
        closed.left(now).is_some() && known.is_none_or(|known| known.left(now).is_none())
    }

    fn set_closed(&self, node: Node, closed: Option<Closed>) {
        let mut all = lock(&self.closed);
        match closed {
            Some(closed) => all.insert(node, closed),
            None => all.remove(&node),
        };
        self.any_closed.store(!all.is_empty(), Ordering::Release);
    }

    /// Why and until when `node` is closed. Still returned for [`ANSWERED`] after that time.
    pub(crate) fn closed(&self, node: impl FnOnce() -> Node) -> Option<Closed> {
        if !self.any_closed.load(Ordering::Acquire) {
            return None;
        }
        let node = node();
        let mut all = lock(&self.closed);
        let now = clock::now();
        all.retain(|_, closed| now < closed.until.after(ANSWERED));
        self.any_closed.store(!all.is_empty(), Ordering::Release);
        all.get(&node).copied()
    }
}

fn connected(nodes: &HashMap<Node, Option<Outage>>) -> i64 {
    let connected = nodes.values().filter(|outage| outage.is_none());
    i64::try_from(connected.count()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Cause;

    impl Links {
        fn up(&self, node: Node) -> i64 {
            self.note(node, NodeChange::Connected { again: false })
        }

        fn down(&self, node: Node, error: StoreError) -> i64 {
            self.note(node, NodeChange::Disconnected(error))
        }

        fn still_down(&self, node: Node, error: &'static str) {
            let error = StoreError::disconnected(error);
            self.note(node, NodeChange::StillDisconnected(error));
        }

        fn gone(&self, node: Node) -> i64 {
            self.note(node, NodeChange::Gone)
        }
    }

    #[test]
    fn an_outage_keeps_its_beginning_and_tells_its_last_cause() {
        let (links, node) = (Links::default(), Node::ONLY);
        let outage = || links.outage(|| node);
        links.still_down(node, "not down at all");
        assert!(outage().is_none());
        links.down(
            node,
            StoreError::disconnected("the server closed the connection"),
        );
        let since = outage().unwrap().0;
        links.still_down(node, "WRONGPASS");
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
        assert_eq!((links.all_gone(), links.all_gone()), (1, 0));
    }

    #[test]
    fn a_closed_node_is_closed_until_it_opens() {
        let links = Links::default();
        let closed = |until| Closed {
            until,
            cause: Cause::Failover,
        };
        let long = closed(clock::now().after(Duration::from_secs(60)));
        let is_news = |closed| links.is_news(Node(1), closed, clock::now());
        assert!(is_news(long) && !is_news(closed(Instant::START)));
        links.note(Node(1), NodeChange::Closed(Some(long)));
        assert!(!is_news(long), "a server is asked again and again");
        links.note(Node(2), NodeChange::Closed(Some(closed(Instant::START))));
        assert_eq!(links.closed(|| Node(1)), Some(long));
        assert_eq!(links.closed(|| Node(2)), None);
        links.note(Node(1), NodeChange::Closed(None));
        assert_eq!(links.closed(|| Node(1)), None);
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
