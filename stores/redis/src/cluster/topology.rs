//! [`Topology`]: the slots and primaries, as one node reports them; and [`survey`], which asks the nodes.

use std::time::Duration;

use auto_mutex_core::store::Address;
use auto_mutex_core::{SetupError, StoreError};
use tokio::task::JoinSet;
use tokio::time::timeout;
use uuid::Uuid;

use super::slot::Slot;
use crate::RedisEndpoint;
use crate::wire::{Limits, Value};

/// How many nodes are asked at the same time.
const ABREAST: usize = 3;
/// How many nodes are asked at most.
const MOST: usize = 12;
/// How many answers are enough, even if none of them reports a cluster that is up.
const ENOUGH: usize = 3;

/// The primaries and their slots, as one node reports them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Topology {
    /// First and last slot, and the primary that serves them.
    pub(super) ranges: Vec<(Slot, Slot, Address)>,
    pub(super) replicas: Vec<Address>,
    /// Whether the node reports that the cluster is up.
    pub(super) works: bool,
    /// The configuration epoch that the node reports.
    pub(super) epoch: u64,
}

impl Topology {
    /// The commands to send; [`read`](Self::read) takes the replies.
    pub(super) const QUESTIONS: [&[&str]; 2] = [&["CLUSTER", "SLOTS"], &["CLUSTER", "INFO"]];

    /// Reads the reply to the command with this index, from the node at `asked`.
    pub(super) fn read(&mut self, index: usize, reply: &Value<'_>, asked: &Address) {
        match (index, reply) {
            (0, Value::List(ranges)) => {
                for range in ranges {
                    self.range(range, asked);
                }
            }
            (1, Value::Text(info)) => {
                for line in String::from_utf8_lossy(info).lines() {
                    match line.split_once(':') {
                        Some(("cluster_state", state)) => self.works = state == "ok",
                        Some(("cluster_current_epoch", epoch)) => {
                            self.epoch = epoch.parse().unwrap_or_default();
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }

    /// The slots that the primary at `address` serves.
    pub(super) fn slots_of(&self, address: &Address) -> impl Iterator<Item = Slot> {
        let ranges = self.ranges.iter().filter(move |range| range.2 == *address);
        ranges.flat_map(|(first, last, _)| (first.0..=last.0).map(Slot))
    }

    /// Whether the primary at `address` serves the slot.
    pub(super) fn serves(&self, address: &Address, slot: Slot) -> bool {
        let mut ranges = self.ranges.iter();
        ranges.any(|(first, last, at)| (first.0..=last.0).contains(&slot.0) && at == address)
    }

    /// The primaries, each once for every range of its slots.
    pub(super) fn primaries(&self) -> impl Iterator<Item = &Address> {
        self.ranges.iter().map(|range| &range.2)
    }

    /// Reads first and last slot, the primary, its replicas. Ignores malformed ranges.
    fn range(&mut self, range: &Value<'_>, asked: &Address) {
        let Some(
            [
                Value::Integer(first),
                Value::Integer(last),
                primary,
                replicas @ ..,
            ],
        ) = range.as_list()
        else {
            return;
        };
        let slots = (Slot::numbered(*first), Slot::numbered(*last));
        let (Some(first), Some(last)) = slots else {
            return;
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

/// Reads the address of a node from its host, port, id and metadata.
fn node(value: &Value<'_>, asked: &Address) -> Option<Address> {
    let words = value.as_list()?;
    let [host, Value::Integer(port), ..] = words else {
        return None;
    };
    let host = match host {
        // The node's host name is unknown; the metadata may have its address.
        Value::Text(b"?") => words.get(3).and_then(ip).unwrap_or_default(),
        Value::Text(host) => std::str::from_utf8(host).ok()?,
        _ => "",
    };
    address(host, (*port).try_into().ok()?, asked)
}

/// The value of `ip` in a map or a list of pairs.
fn ip<'a>(more: &Value<'a>) -> Option<&'a str> {
    let of = |key: &Value<'a>, value: &Value<'a>| match (key, value) {
        (Value::Text(b"ip"), Value::Text(ip)) => std::str::from_utf8(ip).ok(),
        _ => None,
    };
    match more {
        Value::Map(fields) => fields.iter().find_map(|(key, value)| of(key, value)),
        Value::List(words) => words
            .chunks_exact(2)
            .find_map(|pair| of(&pair[0], &pair[1])),
        _ => None,
    }
}

/// Returns the address of a node that the node at `asked` has named. If `host` is empty, both nodes have the same host.
pub(super) fn address(host: &str, port: u16, asked: &Address) -> Option<Address> {
    let host = match (host, asked) {
        ("", Address::Tcp { host, .. }) => host,
        ("", Address::Unix(_)) => return None,
        (host, _) => host,
    };
    let host = host.to_owned();
    Some(Address::Tcp { host, port })
}

/// Asks `candidates` in order, until one reports a cluster that is up, with `epoch` or a higher one. Otherwise returns
/// the answer with the highest epoch. `limits` returns the limits of a node that is asked now.
///
/// The survey asks another node only if an answer is slow or not good enough. So it usually asks one node of a healthy
/// cluster, which matters when thousands of clients start together.
pub(super) async fn survey(
    candidates: Vec<RedisEndpoint>,
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
            asked.spawn(ask(candidate, limits()));
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
            Some(Ok(Err(error))) => {
                if worst.as_ref().is_none_or(concerns_one_node) {
                    worst = Some(error);
                }
            }
            Some(Err(_)) => {}
            None => break,
        }
        if answers == ENOUGH {
            break;
        }
    }
    best.ok_or_else(|| worst.unwrap_or_else(nobody))
}

/// Returns the part of `limit` that each of the candidates may take, so that a survey asks all of them within `limit`
/// even if none answers.
pub(super) fn share(limit: Duration, candidates: usize) -> Duration {
    let rounds = candidates.min(MOST).div_ceil(ABREAST).max(1);
    limit / rounds as u32
}

/// Returns after what time a survey asks another node as well. The survey still waits for the first node, until `silence`
/// is over.
pub(super) fn slow(silence: Duration) -> Duration {
    silence / 4
}

/// Whether the error is about this node only: another node may answer.
pub(super) fn concerns_one_node(error: &SetupError) -> bool {
    matches!(
        error,
        SetupError::Unreachable { .. } | SetupError::NotPrimary { .. }
    )
}

async fn ask(candidate: RedisEndpoint, limits: Limits) -> Result<Topology, SetupError> {
    let mut topology = Topology::default();
    let read = |index, reply: &Value<'_>| topology.read(index, reply, &candidate.address);
    crate::inquire(&candidate, &Topology::QUESTIONS, limits, read).await?;
    if topology.ranges.is_empty() {
        let source = StoreError::disconnected("the node knows of no slot that is served");
        let address = candidate.address.to_string();
        return Err(SetupError::unreachable(address, source));
    }
    Ok(topology)
}

fn nobody() -> SetupError {
    SetupError::invalid_url("it names no node")
}

/// Shuffles the items, so that the members of a cluster do not all ask the same node.
pub(super) fn shuffle<T>(items: &mut [T]) {
    for last in (1..items.len()).rev() {
        let chosen = Uuid::new_v4().as_u128() % (last as u128 + 1);
        items.swap(last, chosen as usize);
    }
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
        topology.read(0, &reply, &at("seed", 7000));
        topology
    }

    #[test]
    fn hosts_that_are_not_told_are_the_one_that_was_asked() {
        let node = |host| Value::List(vec![host, Value::Integer(7001), text("id")]);
        let ip = Value::Map(vec![(text("ip"), text("10.0.0.1"))]);
        let unnamed = |more| Value::List(vec![text("?"), Value::Integer(7001), text("id"), more]);
        for (host, expected) in [
            (node(text("h")), "h"),
            (node(text("")), "seed"),
            (node(Value::Nil), "seed"),
            (node(text("?")), "seed"),
            (unnamed(ip.clone()), "10.0.0.1"),
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
        topology.read(1, &text(info), &at("seed", 7000));
        assert!(topology.works && topology.epoch == 17);
        topology.read(1, &text("cluster_state:fail\r\n"), &at("seed", 7000));
        assert!(!topology.works);
    }
}
