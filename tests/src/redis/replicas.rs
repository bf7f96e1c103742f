//! Servers as replicas of other servers.

use super::{Options, Redis};
use crate::events::eventually;

impl Options {
    /// Replication settings for tests: a replica follows its primary immediately, and with `min-replicas-to-write`, a
    /// primary without replicas accepts writes for at most a second.
    #[must_use]
    pub fn replicated(self) -> Self {
        self.line("repl-diskless-sync-delay 0")
            .line("repl-ping-replica-period 1")
            .line("min-replicas-max-lag 1")
    }
}

impl Redis {
    /// Makes this server a replica of `primary`, and returns when the replica has all data.
    #[track_caller]
    pub fn follow(&self, primary: &Redis) {
        if let Some(password) = primary.options.password_for_admin() {
            self.command(&["CONFIG", "SET", "masterauth", password]);
        }
        self.command(&["REPLICAOF", "127.0.0.1", &primary.port().to_string()]);
        eventually("the replica is in sync", || {
            self.info("master_link_status") == "up"
        });
        self.wait_for(primary);
    }

    /// Waits until this replica has all the data that `primary` has now.
    #[track_caller]
    pub fn wait_for(&self, primary: &Redis) {
        let offset = |redis: &Redis| -> u64 {
            let text = redis.info("master_repl_offset");
            text.parse().expect("an offset")
        };
        let there = offset(primary);
        eventually("the replica has caught up", || offset(self) >= there);
    }

    /// Makes this server a primary.
    pub fn promote(&self) {
        self.command(&["REPLICAOF", "NO", "ONE"]);
    }

    /// Whether this server is a primary now.
    pub fn is_primary(&self) -> bool {
        let role = self.try_command(&["ROLE"]);
        role.is_ok_and(|role| {
            let first = role.list().first();
            first.is_some_and(|role| role.text() == "master")
        })
    }
}
