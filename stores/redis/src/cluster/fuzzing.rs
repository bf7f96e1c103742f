//! Entry points for the fuzzers, for input from a cluster. See `crate::fuzzing`.

use auto_mutex_seam::store::Address;

use super::redirector::redirect;
use super::slot::{Slot, epoch_keys};
use super::topology::Topology;
use crate::fuzzing;

/// Error replies, including redirections.
pub fn errors(bytes: &[u8]) {
    fuzzing::each_error(bytes, |error| {
        if let Some((_, slot, _)) = redirect(error, &asked()) {
            assert!(slot.0 < Slot::COUNT);
            let text = error.to_string();
            assert!(text.starts_with("MOVED ") || text.starts_with("ASK "));
        }
    });
}

/// A cluster's description of its slots.
pub fn slots(bytes: &[u8]) {
    let mut topology = Topology::default();
    fuzzing::each(bytes, |value| {
        topology.read_slots(value, &asked());
        topology.read_info(value);
    });
    for (first, last, _) in &topology.ranges {
        assert!(first.0 < Slot::COUNT && last.0 < Slot::COUNT);
    }
    // Only two nodes are checked, because choosing keys among all slots of a node is slow.
    for (_, _, address) in topology.ranges.iter().take(2) {
        assert!(epoch_keys(&topology, address).len() <= 3);
    }
}

fn asked() -> Address {
    Address::Tcp {
        host: "asked".to_owned(),
        port: 7000,
    }
}
