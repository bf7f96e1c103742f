//! [`Topology`]: slots and primaries as reported by a node. [`survey`] asks the nodes.

use std::collections::HashSet;
use std::time::Duration;

use auto_mutex_seam::SetupError;
use auto_mutex_seam::store::{Address, invalid, random_number};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::slot::Slot;
use crate::RedisEndpoint;
use crate::login::error::{ConnectError, accept};
use crate::login::hello;
use crate::wire::{Limits, Value};

const ABREAST: usize = 3;
const MOST: usize = 12;
/// This many answers are enough, even if none reports a cluster that is up.
const ENOUGH: usize = 3;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Topology {
    pub(super) ranges: Vec<(Slot, Slot, Address)>,
    pub(super) replicas: Vec<Address>,
    pub(super) works: bool,
    pub(super) epoch: u64,
}

impl Topology {
    /// Reads the reply to CLUSTER SLOTS of the node at `asked`. Ignores malformed ranges.
    pub(super) fn read_slots(&mut self, reply: &Value<'_>, asked: &Address) {
        let slot = |value: &Value<'_>| match value {
            Value::Integer(number) => Slot::numbered(*number),
            _ => None,
        };
        for range in reply.as_list().unwrap_or_default() {
            let [first, last, primary, replicas @ ..] = range.as_list().unwrap_or_default() else {
                continue;
            };
            let (Some(first), Some(last)) = (slot(first), slot(last)) else {
                continue;
            };
            if let Some(address) = node(primary, asked) {
                self.ranges.push((first, last, address));
            }
            for address in replicas.iter().filter_map(|replica| node(replica, asked)) {
                if !self.replicas.contains(&address) {
                    self.replicas.push(address);
                }
            }
        }
    }

    /// Reads the reply to CLUSTER INFO.
    pub(super) fn read_info(&mut self, reply: &Value<'_>) {
        for line in reply.as_text().unwrap_or_default().lines() {
            match line.split_once(':') {
                Some(("cluster_state", state)) => self.works = state == "ok",
                Some(("cluster_current_epoch", epoch)) => {
                    self.epoch = epoch.parse().unwrap_or_default();
                }
                _ => {}
            }
        }
    }

    pub(super) fn serves(&self, address: &Address, slot: Slot) -> bool {
        let mut ranges = self.ranges.iter();
        ranges.any(|(first, last, at)| (first.0..=last.0).contains(&slot.0) && at == address)
    }

    /// Each primary, once.
    pub(super) fn primaries(&self) -> impl Iterator<Item = &Address> {
        let mut seen = HashSet::new();
        let all = self.ranges.iter().map(|range| &range.2);
        all.filter(move |address| seen.insert(*address))
    }
}

fn node(value: &Value<'_>, asked: &Address) -> Option<Address> {
    let words = value.as_list()?;
    let [host, Value::Integer(port), ..] = words else {
        return None;
    };
    let host = match host {
        // The host name is unknown, but the metadata may have the address.
        Value::Text(b"?") => words
            .get(3)
            .and_then(|more| more.field("ip"))
            .unwrap_or_default(),
        Value::Text(host) => std::str::from_utf8(host).ok()?,
        _ => "",
    };
    address(host, (*port).try_into().ok()?, asked)
}

/// `host` is as reported by the node at `asked`, or empty if it is the same host.
pub(super) fn address(host: &str, port: u16, asked: &Address) -> Option<Address> {
    let host = match (host, asked) {
        ("", Address::Tcp { host, .. }) => host,
        ("", Address::Unix(_)) => return None,
        (host, _) => host,
    };
    let host = host.to_owned();
    Some(Address::Tcp { host, port })
}

/// Asks `candidates` in order until one reports a cluster that is up, with at least `epoch`. Otherwise returns the
/// answer with the highest epoch. Because thousands of clients may start together, another node is asked only if an
/// answer is slow or not good enough.
pub(super) async fn survey(
    candidates: Vec<Address>,
    endpoint: &RedisEndpoint,
    epoch: u64,
    limits: impl Fn() -> Limits,
) -> Result<Topology, SetupError> {
    let pause = slow(limits().silence);
    let mut left = candidates.into_iter().take(MOST);
    let mut asked = JoinSet::new();
    let mut answers = 0;
    let mut best: Option<Topology> = None;
    let mut worst: Option<SetupError> = None;
    loop {
        if asked.len() < ABREAST
            && let Some(candidate) = left.next()
        {
            asked.spawn(ask(candidate, endpoint.clone(), limits()));
        }
        let Ok(answer) = timeout(pause, asked.join_next()).await else {
            continue;
        };
        match answer {
            Some(Ok(Ok(topology))) => {
                if topology.works && topology.epoch >= epoch {
                    return Ok(topology);
                }
                if best.as_ref().is_none_or(|best| best.epoch < topology.epoch) {
                    best = Some(topology);
                }
                answers += 1;
            }
            Some(Ok(Err(error))) if worst.as_ref().is_none_or(concerns_one_node) => {
                worst = Some(error);
            }
            Some(_) => {}
            None => break,
        }
        if answers == ENOUGH {
            break;
        }
    }
    best.ok_or_else(|| worst.unwrap_or_else(|| invalid("it names no node")))
}

/// The time for each candidate, so that a survey ends within `limit` even if none answers.
pub(super) fn share(limit: Duration, candidates: usize) -> Duration {
    let rounds = candidates.min(MOST).div_ceil(ABREAST).max(1);
    limit / rounds as u32
}

/// After this time, a survey asks another node as well, and keeps waiting for the first.
pub(super) fn slow(silence: Duration) -> Duration {
    silence / 4
}

/// Whether another node might answer.
pub(super) fn concerns_one_node(error: &SetupError) -> bool {
    matches!(
        error,
        SetupError::Unreachable { .. } | SetupError::NotPrimary { .. }
    )
}

async fn ask(
    address: Address,
    endpoint: RedisEndpoint,
    limits: Limits,
) -> Result<Topology, SetupError> {
    let asked = limits.within(async {
        // In any role, because replicas know the topology too.
        let (mut connection, ..) = hello::open(&address, &endpoint, None, limits).await?;
        let mut questions = redis::pipe();
        questions.cmd("CLUSTER").arg("SLOTS");
        questions.cmd("CLUSTER").arg("INFO");
        connection.send(&questions.get_packed_pipeline()).await?;
        let mut topology = Topology::default();
        topology.read_slots(&accept(connection.reply().await?)?, &address);
        topology.read_info(&accept(connection.reply().await?)?);
        if topology.ranges.is_empty() {
            let unserved = "the node knows of no slot that is served";
            return Err(ConnectError::unreachable(unserved));
        }
        Ok(topology)
    });
    asked.await.map_err(|error| error.at(&address.to_string()))
}

/// Spreads the members' questions over the nodes of a cluster.
pub(super) fn shuffle<T>(items: &mut [T]) {
    items.sort_by_cached_key(|_| random_number());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(host: &str, port: u16) -> Address {
        let host = host.to_owned();
        Address::Tcp { host, port }
    }

    fn text(text: &str) -> Value<'_> {
        Value::Text(text.as_bytes())
    }

    fn range<'a>(first: i64, last: i64, nodes: Vec<Value<'a>>) -> Value<'a> {
        let mut words = vec![Value::Integer(first), Value::Integer(last)];
        words.extend(nodes);
        Value::List(words)
    }

    fn slots(reply: Value<'_>) -> Topology {
        let mut topology = Topology::default();
        topology.read_slots(&reply, &at("seed", 7000));
        topology
    }

    #[test]
    fn hosts_that_are_not_told_are_the_one_that_was_asked() {
        let node = |host| Value::List(vec![host, Value::Integer(7001), text("id")]);
        let unnamed = |more| Value::List(vec![text("?"), Value::Integer(7001), text("id"), more]);
        for (host, expected) in [
            (node(text("h")), "h"),
            (node(text("")), "seed"),
            (node(Value::Nil), "seed"),
            (node(text("?")), "seed"),
            (
                unnamed(Value::List(vec![text("ip"), text("10.0.0.2")])),
                "10.0.0.2",
            ),
        ] {
            let topology = slots(Value::List(vec![range(0, 16383, vec![host])]));
            let all = (Slot(0), Slot(16383), at(expected, 7001));
            assert_eq!(topology.ranges, [all]);
        }
    }

    #[test]
    fn replicas_are_kept_apart() {
        let node = |port| Value::List(vec![text("h"), Value::Integer(port), text("id")]);
        let topology = slots(Value::List(vec![
            range(0, 99, vec![node(1), node(2), node(3)]),
            range(100, 100, vec![node(4), node(2)]),
        ]));
        assert_eq!(topology.ranges.len(), 2);
        assert_eq!(topology.replicas, [at("h", 2), at("h", 3)]);
    }

    #[test]
    fn nonsense_is_left_out() {
        let node = |port| Value::List(vec![text("h"), Value::Integer(port)]);
        for reply in [
            Value::Nil,
            Value::List(vec![Value::Nil]),
            Value::List(vec![range(0, 16384, vec![node(1)])]),
            Value::List(vec![range(-1, 1, vec![node(1)])]),
            Value::List(vec![range(0, 1, vec![node(65536)])]),
            Value::List(vec![range(0, 1, vec![])]),
            Value::List(vec![range(0, 1, vec![Value::Text(b"h")])]),
        ] {
            assert_eq!(slots(reply), Topology::default());
        }
    }

    #[test]
    fn a_node_says_whether_its_cluster_works() {
        let mut topology = Topology::default();
        let info = "cluster_state:ok\r\ncluster_slots_ok:16384\r\ncluster_current_epoch:17\r\n";
        topology.read_info(&text(info));
        assert!(topology.works && topology.epoch == 17);
        topology.read_info(&text("cluster_state:fail\r\n"));
        assert!(!topology.works);
    }
}
