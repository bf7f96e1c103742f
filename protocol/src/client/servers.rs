//! [`Servers`]: which servers of the store a client reaches, and which of them grant. All names of the client share it;
//! a transition reads of it what [`Env`](super::Env) has.

use alloc::collections::BTreeMap;

use crate::{Closed, Instant, Limits, Node, NodeChange, StoreError};

/// When an outage began, and its cause.
pub type Outage = (Instant, StoreError);

/// The servers that a client uses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Servers {
    /// Those in use, each with its outage if it is not connected.
    nodes: BTreeMap<Node, Option<Outage>>,
    closed: BTreeMap<Node, Closed>,
    last: Option<Outage>,
}

/// What follows from a change of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changed {
    /// By how much the number of connected servers has changed.
    pub connected: i64,
    /// The server grants nothing for some time, which was not known before.
    pub closes: Option<Closed>,
    /// What each name of the server must be told.
    pub names: Option<News>,
}

/// What a name learns of its server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// It is not connected any more: from now on, its waiters have the store timeout. The name needs no input, but a
    /// look at its timers.
    Disconnected,
    /// It is [connected again](super::Input::Reconnected).
    Reconnected,
    /// It [has forgotten its locks](super::Input::Forgotten).
    Forgotten,
}

impl Servers {
    /// A server has changed.
    pub fn on(&mut self, node: Node, change: NodeChange, now: Instant) -> Changed {
        let mut changed = Changed::default();
        let before = self.connected();
        match change {
            NodeChange::Connected { again } => {
                self.nodes.insert(node, None);
                changed.names = again.then_some(News::Reconnected);
            }
            NodeChange::Disconnected(error) => {
                self.last = Some((now, error.clone()));
                // Keep the time at which the outage began.
                let known = self.nodes.entry(node).or_default();
                known.get_or_insert((now, error));
                changed.names = Some(News::Disconnected);
            }
            NodeChange::StillDisconnected(error) => {
                if let Some(Some(outage)) = self.nodes.get_mut(&node) {
                    outage.1 = error.clone();
                    self.last = Some((now, error));
                }
            }
            NodeChange::Closed(Some(closed)) => {
                let known = self.closed.insert(node, closed);
                // A server is asked again and again.
                let is_known = known.is_some_and(|known| known.left(now).is_some());
                changed.closes = Some(closed).filter(|it| !is_known && it.left(now).is_some());
            }
            NodeChange::Closed(None) => {
                self.closed.remove(&node);
            }
            NodeChange::Forgotten => changed.names = Some(News::Forgotten),
            NodeChange::Gone => {
                self.nodes.remove(&node);
                self.closed.remove(&node);
            }
        }
        changed.connected = self.connected() - before;
        changed
    }

    /// The client has ended. Returns the number of servers that were connected.
    pub fn all_gone(&mut self) -> i64 {
        let gone = self.connected();
        self.nodes.retain(|_, outage| outage.is_some());
        gone
    }

    fn connected(&self) -> i64 {
        let connected = self.nodes.values().filter(|outage| outage.is_none());
        i64::try_from(connected.count()).unwrap_or(i64::MAX)
    }

    /// How many are in use.
    pub fn count(&self) -> usize {
        self.nodes.len()
    }

    /// Whether any server in use is not connected.
    pub fn any_down(&self) -> bool {
        self.nodes.values().any(Option::is_some)
    }

    /// Whether any server may be closed.
    pub fn any_closed(&self) -> bool {
        !self.closed.is_empty()
    }

    /// The latest outage, which may be over.
    pub fn last_outage(&self) -> Option<&Outage> {
        self.last.as_ref()
    }

    /// When the outage of a server began, and its cause; `None` if it is connected.
    pub fn outage(&self, node: Node) -> Option<&Outage> {
        self.nodes.get(&node)?.as_ref()
    }

    /// Why and until when a server is closed. Still returned for the time in which requests from before may stay
    /// unanswered.
    pub fn closed(&mut self, node: Node, now: Instant, limits: &Limits) -> Option<Closed> {
        (self.closed).retain(|_, closed| now < closed.until.after(limits.answered));
        self.closed.get(&node).copied()
    }

    /// The one that is closed for the longest time.
    pub fn longest_closed(&self, now: Instant) -> Option<Closed> {
        let closed = self.closed.values().filter(|closed| now < closed.until);
        closed.max_by_key(|closed| closed.until).copied()
    }
}

#[cfg(any(test, feature = "test-util"))]
#[doc(hidden)]
impl Servers {
    /// Shows each time.
    pub fn visit(&mut self, visitor: &mut impl crate::Visitor) {
        let outages = self.nodes.values_mut().flatten();
        for (since, _) in outages.chain(&mut self.last) {
            visitor.instant(since);
        }
        for closed in self.closed.values_mut() {
            visitor.instant(&mut closed.until);
        }
    }

    /// Drops what makes no difference to calls without a store timeout.
    pub fn forget(&mut self, now: Instant) {
        self.last = None;
        for (since, _) in self.nodes.values_mut().flatten() {
            *since = Instant::START;
        }
        self.closed.retain(|_, closed| now < closed.until);
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;
    use std::string::ToString;

    use super::*;
    use crate::{Cause, LIMITS};

    const NOW: Instant = Instant::from_nanos(1_000_000_000_000);

    impl Servers {
        fn change(&mut self, node: u32, change: NodeChange) -> Changed {
            self.on(Node(node), change, NOW)
        }

        fn up(&mut self, node: u32) -> i64 {
            self.change(node, NodeChange::Connected { again: false })
                .connected
        }

        fn down(&mut self, node: u32, error: &'static str) -> i64 {
            let error = StoreError::disconnected(error);
            self.change(node, NodeChange::Disconnected(error)).connected
        }

        fn still_down(&mut self, node: u32, error: &'static str) {
            let error = StoreError::disconnected(error);
            self.change(node, NodeChange::StillDisconnected(error));
        }
    }

    #[test]
    fn an_outage_keeps_its_beginning_and_tells_its_last_cause() {
        let mut servers = Servers::default();
        servers.still_down(1, "not down at all");
        assert!(servers.outage(Node(1)).is_none() && !servers.any_down());
        servers.down(1, "the server closed the connection");
        let since = servers.outage(Node(1)).unwrap().0;
        let later = NOW.after(Duration::from_secs(1));
        let wrong = StoreError::disconnected("WRONGPASS");
        servers.on(Node(1), NodeChange::StillDisconnected(wrong), later);
        let (same, cause) = servers.outage(Node(1)).unwrap();
        assert_eq!((*same, cause.to_string().as_str()), (since, "WRONGPASS"));
        assert_eq!(servers.last_outage().map(|last| last.0), Some(later));
        servers.up(1);
        assert!(servers.outage(Node(1)).is_none() && !servers.any_down());
    }

    #[test]
    fn each_connection_counts_once() {
        let mut servers = Servers::default();
        assert_eq!(servers.down(1, "gone"), 0);
        assert_eq!((servers.up(1), servers.up(1)), (1, 0));
        assert_eq!((servers.up(2), servers.up(3)), (1, 1));
        assert_eq!((servers.down(1, "gone"), servers.down(1, "gone")), (-1, 0));
        let mut gone = || servers.change(2, NodeChange::Gone).connected;
        assert_eq!((gone(), gone()), (-1, 0));
        assert_eq!((servers.all_gone(), servers.all_gone()), (1, 0));
    }

    #[test]
    fn a_closed_server_is_closed_until_it_opens() {
        let mut servers = Servers::default();
        let closed = |until| Closed {
            until,
            cause: Cause::Failover,
        };
        let long = closed(NOW.after(Duration::from_secs(60)));
        let closes = |servers: &mut Servers, node, closed| {
            servers
                .change(node, NodeChange::Closed(Some(closed)))
                .closes
        };
        assert_eq!(closes(&mut servers, 1, closed(Instant::START)), None);
        assert_eq!(closes(&mut servers, 1, long), Some(long));
        assert_eq!(closes(&mut servers, 1, long), None, "it is known");
        closes(&mut servers, 2, closed(Instant::START));
        assert_eq!(servers.closed(Node(1), NOW, &LIMITS), Some(long));
        assert_eq!(servers.closed(Node(2), NOW, &LIMITS), None);
        servers.change(1, NodeChange::Closed(None));
        assert_eq!(servers.closed(Node(1), NOW, &LIMITS), None);
        assert!(!servers.any_closed());
    }

    #[test]
    fn an_outage_of_one_server_is_none_of_another() {
        let mut servers = Servers::default();
        servers.down(1, "gone");
        servers.down(2, "gone too");
        servers.up(1);
        assert!(servers.outage(Node(1)).is_none());
        assert!(servers.outage(Node(2)).is_some());
    }

    #[test]
    fn names_learn_what_concerns_them() {
        let mut servers = Servers::default();
        let mut news = |change| servers.change(1, change).names;
        assert_eq!(news(NodeChange::Connected { again: false }), None);
        let error = StoreError::disconnected("gone");
        assert_eq!(
            news(NodeChange::Disconnected(error.clone())),
            Some(News::Disconnected)
        );
        assert_eq!(news(NodeChange::StillDisconnected(error)), None);
        assert_eq!(
            news(NodeChange::Connected { again: true }),
            Some(News::Reconnected)
        );
        assert_eq!(news(NodeChange::Forgotten), Some(News::Forgotten));
        assert_eq!(news(NodeChange::Gone), None);
    }
}
