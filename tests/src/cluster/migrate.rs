//! Moves a slot from one node to another, step by step, as `redis-cli --cluster reshard` does it.

use super::{AGREE, Cluster, SLOTS};
use crate::events::eventually_within;
use crate::redis::Redis;

/// How many keys are listed at a time.
const BATCH: &str = "10";

/// A slot that is being moved.
pub struct Migration<'a> {
    cluster: &'a Cluster,
    slot: u16,
    from: usize,
    to: usize,
}

impl Cluster {
    /// Begins to move a slot: from now on, node `from` redirects requests for keys that it does not have to node `to`.
    #[track_caller]
    pub fn migrate(&self, slot: u16, from: usize, to: usize) -> Migration<'_> {
        let migration = Migration {
            cluster: self,
            slot,
            from,
            to,
        };
        migration.set(migration.target(), "IMPORTING", &migration.id(from));
        migration.set(migration.source(), "MIGRATING", &migration.id(to));
        migration
    }

    /// Moves a slot with all its keys, and returns when all running nodes know the new owner.
    #[track_caller]
    pub fn move_slot(&self, slot: u16, from: usize, to: usize) {
        let migration = self.migrate(slot, from, to);
        migration.move_keys();
        migration.finish();
    }

    /// Takes a slot from the node that serves it; returns when all running nodes know that no node serves the slot.
    #[track_caller]
    pub fn abandon_slot(&self, slot: u16, from: usize) {
        let slot = slot.to_string();
        let delete = |node: &Redis| node.try_command(&["CLUSTER", "DELSLOTS", &slot]);
        delete(self.node(from)).expect("it has the slot");
        eventually_within(AGREE, "nobody serves the slot", || {
            // A node that learnt the slot's owner from others does not learn of the deletion, so every node gets the
            // command.
            self.running().for_each(|node| drop(delete(node)));
            self.running().all(|node| {
                let info = node.command(&["CLUSTER", "INFO"]);
                let assigned = format!("cluster_slots_assigned:{}\r", SLOTS - 1);
                info.text().contains(&assigned)
            })
        });
    }

    /// Gives a node a slot that no node serves; the other nodes learn of it a moment later.
    #[track_caller]
    pub fn take_slot(&self, slot: u16, to: usize) {
        let slot = slot.to_string();
        self.node(to).command(&["CLUSTER", "ADDSLOTS", &slot]);
    }
}

impl Migration<'_> {
    fn source(&self) -> &Redis {
        self.cluster.node(self.from)
    }

    fn target(&self) -> &Redis {
        self.cluster.node(self.to)
    }

    fn id(&self, index: usize) -> String {
        let standing = self.cluster.standing(index);
        standing.expect("a running node").id
    }

    fn set(&self, node: &Redis, state: &str, id: &str) {
        let slot = self.slot.to_string();
        node.command(&["CLUSTER", "SETSLOT", &slot, state, id]);
    }

    /// The keys of the slot that are still at the source, ten at most.
    pub fn left(&self) -> Vec<String> {
        let slot = self.slot.to_string();
        let keys = self
            .source()
            .command(&["CLUSTER", "GETKEYSINSLOT", &slot, BATCH]);
        keys.texts()
    }

    /// Moves one key, if it is still at the source.
    pub fn move_key(&self, key: &str) {
        let port = self.target().port().to_string();
        let mut command = vec!["MIGRATE", "127.0.0.1", &port, key, "0", "5000"];
        let password = self.cluster.options.password_for_admin();
        if let Some(password) = password {
            command.extend(["AUTH", password]);
        }
        self.source().command(&command);
    }

    /// Moves all keys that are still at the source, one by one.
    pub fn move_keys(&self) {
        loop {
            let keys = self.left();
            if keys.is_empty() {
                return;
            }
            keys.iter().for_each(|key| self.move_key(key));
        }
    }

    /// Gives the slot to the new node. Until the old node knows, it redirects requests for keys that it does not have.
    #[track_caller]
    pub fn finish(self) {
        let id = self.id(self.to);
        self.set(self.target(), "NODE", &id);
        self.set(self.source(), "NODE", &id);
        for index in 0..super::PRIMARIES {
            if self.cluster.primary_of(index) == Some(index) {
                self.set(self.cluster.node(index), "NODE", &id);
            }
        }
        // If slots moved faster than the nodes learn of it, two nodes could choose the same epoch. They would then
        // disagree for half a minute, and keys would be lost.
        eventually_within(AGREE, "the nodes know who has the slot", || {
            let known = |node: &Redis| epoch(node, &id);
            let own = known(self.target());
            self.cluster.running().all(|node| known(node) == own)
        });
    }
}

/// The epoch of the node `id`, as `node` knows it.
fn epoch(node: &Redis, id: &str) -> Option<String> {
    let known = node.try_command(&["CLUSTER", "NODES"]).ok()?;
    let line = known.text().lines().find(|line| line.starts_with(id))?;
    line.split(' ').nth(6).map(str::to_owned)
}
