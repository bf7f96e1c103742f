//! Tests of the rig's cluster.

use super::{Cluster, PRIMARIES, SLOTS};
use crate::resp::Connection;

#[test]
fn it_starts_serves_every_slot_and_ends_with_its_owner() {
    let cluster = Cluster::start();
    let served: usize = (0..PRIMARIES)
        .map(|index| cluster.standing(index).unwrap().slots)
        .sum();
    assert_eq!(served, usize::from(SLOTS));
    let slot = cluster.slot("suite:m");
    assert_eq!(
        cluster.primary_of(Cluster::home(slot)),
        Some(Cluster::home(slot))
    );
    let ports: Vec<_> = cluster.nodes().iter().map(|node| node.port()).collect();
    drop(cluster);
    assert!(ports.into_iter().all(|port| Connection::tcp(port).is_err()));
}

#[test]
fn slots_move_with_their_keys_and_replicas_take_over() {
    let cluster = Cluster::start();
    let slot = cluster.slot("suite:m");
    let from = Cluster::home(slot);
    let to = (from + 1) % PRIMARIES;
    let key = "auto_mutex:{suite:m}";
    cluster.node(from).command(&["SET", key, "value"]);
    cluster.move_slot(slot, from, to);
    assert_eq!(cluster.node(to).command(&["GET", key]).text(), "value");
    cluster.fail_over(to);
    assert_eq!(cluster.primary_of(to), Some(to + PRIMARIES));
    assert_eq!(
        cluster.node(to + PRIMARIES).command(&["GET", key]).text(),
        "value"
    );
}
