//! A Redis Cluster for one test: three primaries and three replicas, which end with the test.

mod form;
mod migrate;

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::thread;
use std::time::{Duration, Instant};

pub use migrate::Migration;

use crate::events::eventually_within;
use crate::redis::{Options, Redis};

/// The number of primaries, and also of replicas.
pub const PRIMARIES: usize = 3;
/// The number of slots.
pub const SLOTS: u16 = 16384;

/// How long the nodes may take to agree on something, on a slow machine.
const AGREE: Duration = Duration::from_secs(60);

/// How long a failover by command may take. After a failed election, the next one starts only after four times the
/// usual node timeout.
const ELECT: Duration = Duration::from_secs(180);

/// The configuration of a cluster.
#[derive(Clone, Debug)]
pub struct Shape {
    options: Options,
    node_timeout: Duration,
    full_coverage: bool,
    replicas: bool,
}

impl Default for Shape {
    /// A replica takes over only by command, or after its primary has been silent for 30 seconds. If some nodes fail,
    /// the others still serve their slots.
    fn default() -> Self {
        Self {
            options: Options::default(),
            node_timeout: Duration::from_secs(30),
            full_coverage: false,
            replicas: true,
        }
    }
}

impl Shape {
    /// Sets the options of every node.
    #[must_use]
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// Sets how long a node must be silent before its replica takes over.
    #[must_use]
    pub fn node_timeout(mut self, timeout: Duration) -> Self {
        self.node_timeout = timeout;
        self
    }

    /// Sets the servers' default: while any slot is not served, the cluster serves no slot.
    #[must_use]
    pub fn full_coverage(mut self) -> Self {
        self.full_coverage = true;
        self
    }

    /// Leaves out the replicas.
    #[must_use]
    pub fn without_replicas(mut self) -> Self {
        self.replicas = false;
        self
    }
}

/// A private cluster. Its nodes are numbered: at first, nodes 0, 1 and 2 are the primaries, and node `n + 3` is the
/// replica of node `n`.
pub struct Cluster {
    nodes: Vec<Redis>,
    options: Options,
}

/// A node's own view of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The node's id in the cluster.
    pub id: String,
    /// Whether the node is a primary.
    pub primary: bool,
    /// The number of slots that the node serves.
    pub slots: usize,
}

impl Cluster {
    /// Starts a cluster whose nodes ask for no password.
    pub fn start() -> Self {
        Self::with(Shape::default())
    }

    /// Starts a cluster of this shape.
    pub fn with(shape: Shape) -> Self {
        form::form(shape)
    }

    /// All nodes.
    pub fn nodes(&self) -> &[Redis] {
        &self.nodes
    }

    /// The node with this index.
    pub fn node(&self, index: usize) -> &Redis {
        &self.nodes[index]
    }

    /// The URL, with all nodes and the credentials of the options.
    pub fn url(&self) -> String {
        let all: Vec<_> = (0..self.nodes.len()).collect();
        self.url_of(&all)
    }

    /// The URL with some of the nodes.
    pub fn url_of(&self, nodes: &[usize]) -> String {
        let hosts: Vec<_> = nodes
            .iter()
            .map(|index| format!("127.0.0.1:{}", self.nodes[*index].port()))
            .collect();
        format!(
            "redis-cluster://{}{}",
            self.options.credentials(),
            hosts.join(",")
        )
    }

    /// The slot of a lock, by its full name (with its namespace, escaped).
    pub fn slot(&self, name: &str) -> u16 {
        let key = format!("auto_mutex:{{{name}}}");
        let running = self.running().next().expect("a running node");
        let slot = running.command(&["CLUSTER", "KEYSLOT", &key]).int();
        slot.try_into().expect("a slot")
    }

    /// A name that begins with `prefix`. In this namespace, `node` serves the slot of the name at first.
    pub fn name_at(&self, namespace: &str, prefix: &str, node: usize) -> String {
        (0..)
            .map(|number| format!("{prefix}{number}"))
            .find(|name| Self::home(self.slot(&format!("{namespace}:{name}"))) == node)
            .expect("there are enough names")
    }

    /// The primary that serves a slot at first.
    pub fn home(slot: u16) -> usize {
        (0..PRIMARIES)
            .find(|index| form::slots(*index).contains(&slot))
            .expect("every slot is served")
    }

    /// The slots that a primary serves at first.
    pub fn home_slots(index: usize) -> RangeInclusive<u16> {
        form::slots(index)
    }

    /// Makes a node that was reset known to the other nodes again.
    #[track_caller]
    pub fn meet(&self, index: usize) {
        for other in self.running() {
            let port = other.port().to_string();
            self.nodes[index].command(&["CLUSTER", "MEET", "127.0.0.1", &port]);
        }
        let id = self.standing(index).expect("a running node").id;
        eventually_within(AGREE, "the node is known", || {
            pause();
            self.running().all(|node| {
                let known = node.command(&["CLUSTER", "NODES"]);
                let mut lines = known.text().lines();
                lines.any(|line| line.starts_with(&id) && line.contains(" connected"))
                    && !known.text().contains("handshake")
            })
        });
        self.works();
    }

    /// The node's own view of itself; `None` if it does not answer.
    pub fn standing(&self, index: usize) -> Option<Standing> {
        let node = self.nodes.get(index).filter(|node| node.is_running())?;
        let text = node.try_command(&["CLUSTER", "NODES"]).ok()?;
        let line = text
            .text()
            .lines()
            .find(|line| line.contains("myself"))?
            .to_owned();
        let words: Vec<_> = line.split(' ').collect();
        let slots = words[8..].iter().map(|range| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            match (first.parse::<usize>(), last.parse::<usize>()) {
                (Ok(first), Ok(last)) => last - first + 1,
                _ => 0,
            }
        });
        Some(Standing {
            id: words[0].to_owned(),
            primary: words[2].contains("master"),
            slots: slots.sum(),
        })
    }

    /// The node that now serves the slots that primary `home` served at first.
    pub fn primary_of(&self, home: usize) -> Option<usize> {
        [home, home + PRIMARIES].into_iter().find(|index| {
            self.standing(*index)
                .is_some_and(|standing| standing.primary && standing.slots > 0)
        })
    }

    /// One of the nodes `home` and `home + 3` is a replica of the other. Makes it take over by command, and returns
    /// when all nodes know the new primary.
    #[track_caller]
    pub fn fail_over(&self, home: usize) {
        let primary = self.primary_of(home).expect("a primary");
        let replica = if primary == home {
            home + PRIMARIES
        } else {
            home
        };
        self.in_step(primary);
        self.follows(replica, primary);
        let mut asked: Option<Instant> = None;
        eventually_within(ELECT, "the replica takes over by command", || {
            // On a slow machine, the replica gives up after five seconds, and then gets the command again.
            if asked.is_none_or(|asked| asked.elapsed() > Duration::from_secs(6)) {
                let _ = self.nodes[replica].try_command(&["CLUSTER", "FAILOVER"]);
                asked = Some(Instant::now());
            }
            self.primary_of(home) == Some(replica)
        });
        self.taken_over(replica);
    }

    /// Waits until every node that answers knows that `replica` is a replica of `primary`. Nodes do not vote for a node
    /// that they still consider a primary.
    #[track_caller]
    fn follows(&self, replica: usize, primary: usize) {
        let [replica, primary] = [replica, primary].map(|index| self.standing(index));
        let (Some(replica), Some(primary)) = (replica, primary) else {
            panic!("both answer");
        };
        eventually_within(AGREE, "the nodes know whose replica it is", || {
            self.running().all(|node| {
                let Ok(known) = node.try_command(&["CLUSTER", "NODES"]) else {
                    return true;
                };
                let mut lines = known.text().lines().map(|line| line.split(' '));
                lines.any(|mut words| {
                    words.next() == Some(&replica.id) && words.nth(2) == Some(&primary.id)
                })
            })
        });
    }

    /// Waits until node `index` is a primary with slots, and every node that answers knows this.
    #[track_caller]
    pub fn taken_over(&self, index: usize) {
        eventually_within(AGREE, "the replica takes over", || {
            self.standing(index)
                .is_some_and(|standing| standing.primary && standing.slots > 0)
        });
        let slot = form::slots(index % PRIMARIES).start().to_string();
        let port = i64::from(self.nodes[index].port());
        eventually_within(AGREE, "all know the new primary", || {
            self.running().all(|node| {
                let Ok(slots) = node.try_command(&["CLUSTER", "SLOTS"]) else {
                    return true;
                };
                slots.list().iter().any(|range| {
                    let range = range.list();
                    range[0].int().to_string() == slot && range[2].list()[1].int() == port
                })
            })
        });
    }

    /// Waits until the replica of node `index` has all the data of this node.
    #[track_caller]
    pub fn in_step(&self, index: usize) {
        let other = (index + PRIMARIES) % self.nodes.len();
        eventually_within(AGREE, "the replica is in step", || {
            self.nodes[other].info("master_link_status") == "up"
                && self.nodes[other].info("slave_repl_offset")
                    == self.nodes[index].info("master_repl_offset")
        });
    }

    /// Waits until all running nodes report that the cluster works, and agree on who serves which slot. The report
    /// alone is not enough: without full coverage, a node that knows of no slot yet reports the same, but refuses keys
    /// that are moved to it.
    #[track_caller]
    pub fn works(&self) {
        eventually_within(AGREE, "the cluster works", || {
            let views: Option<Vec<_>> = self.running().map(served).collect();
            views.is_some_and(|views| views.windows(2).all(|pair| pair[0] == pair[1]))
        });
    }

    /// Deletes all data of the running nodes.
    pub fn flush(&self) {
        for node in self.running() {
            let _ = node.try_command(&["FLUSHALL"]);
        }
    }

    /// The nodes that were not killed.
    pub fn running(&self) -> impl Iterator<Item = &Redis> {
        self.nodes.iter().filter(|node| node.is_running())
    }
}

/// Each range of slots with the id of the node that serves it, as `node` knows it. `None` if the cluster does not work
/// for `node`.
fn served(node: &Redis) -> Option<BTreeSet<(String, String)>> {
    let info = node.try_command(&["CLUSTER", "INFO"]).ok()?;
    if !info.text().contains("cluster_state:ok") {
        return None;
    }
    let known = node.try_command(&["CLUSTER", "NODES"]).ok()?;
    let lines = known.text().lines().map(|line| line.split(' '));
    let ranges = lines.flat_map(|mut words| {
        let id = words.next().unwrap_or_default();
        // A range in brackets is being moved, which only the source and the target know.
        let ranges = words.skip(7).filter(|range| !range.starts_with('['));
        ranges.map(move |range| (id.to_owned(), range.to_owned()))
    });
    Some(ranges.collect())
}

fn pause() {
    thread::sleep(Duration::from_millis(10));
}
