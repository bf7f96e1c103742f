//! Forms a cluster from single nodes.

use std::ops::RangeInclusive;

use super::{AGREE, Cluster, PRIMARIES, SLOTS, Shape, pause};
use crate::events::eventually_within;
use crate::redis::Redis;

/// The slots that a primary serves at first.
pub(super) fn slots(index: usize) -> RangeInclusive<u16> {
    let bound = |index: usize| (usize::from(SLOTS) * index / PRIMARIES) as u16;
    bound(index)..=bound(index + 1) - 1
}

pub(super) fn form(shape: Shape) -> Cluster {
    let count = if shape.replicas {
        2 * PRIMARIES
    } else {
        PRIMARIES
    };
    let coverage = if shape.full_coverage { "yes" } else { "no" };
    let options = shape
        .options
        .clone()
        .cluster()
        .line("cluster-config-file nodes.conf")
        .line(&format!(
            "cluster-node-timeout {}",
            shape.node_timeout.as_millis()
        ))
        .line(&format!("cluster-require-full-coverage {coverage}"))
        .line("cluster-replica-validity-factor 0")
        .line("cluster-migration-barrier 100")
        .replicated();
    let nodes = Redis::several(count, &options);
    let cluster = Cluster {
        nodes,
        options: shape.options,
    };
    acquaint(&cluster);
    if shape.replicas {
        replicate(&cluster);
    }
    cluster.works();
    cluster
}

fn acquaint(cluster: &Cluster) {
    for (index, node) in cluster.nodes().iter().enumerate() {
        let epoch = (index + 1).to_string();
        node.command(&["CLUSTER", "SET-CONFIG-EPOCH", &epoch]);
        if index < PRIMARIES {
            let mut command = vec!["CLUSTER".to_owned(), "ADDSLOTS".to_owned()];
            command.extend(slots(index).map(|slot| slot.to_string()));
            node.connect().call(&command);
        }
        for other in &cluster.nodes()[..index] {
            let port = other.port().to_string();
            node.command(&["CLUSTER", "MEET", "127.0.0.1", &port]);
        }
    }
    eventually_within(AGREE, "the nodes know each other", || {
        pause();
        cluster.nodes().iter().all(|node| {
            let known = node.command(&["CLUSTER", "NODES"]);
            let strange = |line: &str| line.contains("handshake") || line.contains("noaddr");
            let text = known.text();
            text.lines().count() == cluster.nodes().len() && !text.lines().any(strange)
        })
    });
    // Each node learns the slots of the other nodes a moment later; this waits until then.
    cluster.works();
}

fn replicate(cluster: &Cluster) {
    for index in 0..PRIMARIES {
        let id = cluster.node(index).command(&["CLUSTER", "MYID"]);
        let replica = cluster.node(index + PRIMARIES);
        replica.command(&["CLUSTER", "REPLICATE", id.text()]);
    }
    for index in 0..PRIMARIES {
        cluster.in_step(index);
    }
    // No replica can take over before all nodes know which primary each replica follows.
    eventually_within(AGREE, "the replicas are known", || {
        pause();
        cluster.nodes().iter().all(|node| {
            let known = node.command(&["CLUSTER", "NODES"]);
            let replicas = known.text().lines().filter(|line| line.contains("slave"));
            replicas.count() == PRIMARIES
        })
    });
}
