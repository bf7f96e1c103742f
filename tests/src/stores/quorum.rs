//! Five independent redis-servers.

use auto_mutex::Config;

use super::pool::{Lent, Pool, Reusable, empty};
use super::{TestStore, config, key, suspend};
use crate::redis::{Options, Redis};

static IDLE: Pool<Five> = Pool::new();

/// A quorum for one test.
pub struct OnQuorum(Lent<Five>);

struct Five(Vec<Redis>);

impl OnQuorum {
    /// Takes an idle quorum, or starts a new one.
    #[expect(clippy::new_without_default, reason = "starts processes")]
    pub fn new() -> Self {
        Self(IDLE.take())
    }
}

impl Reusable for Five {
    fn start() -> Self {
        Self(Redis::several(5, &Options::default().least_rights()))
    }

    fn empty(&self) -> bool {
        self.0.iter().all(empty)
    }
}

/// The URL of a quorum of these ports on this machine.
pub fn quorum_url(ports: impl IntoIterator<Item = u16>) -> String {
    let hosts: Vec<_> = ports
        .into_iter()
        .map(|port| format!("127.0.0.1:{port}"))
        .collect();
    format!("redlock://{}", hosts.join(","))
}

impl TestStore for OnQuorum {
    fn url(&self) -> String {
        let url = quorum_url(self.0.0.iter().map(Redis::port));
        // The user has only the rights that the library needs.
        url.replace("://", "://locks:least@")
    }

    fn answer(&self, answers: bool) -> bool {
        let majority: Vec<_> = self.0.0.iter().take(3).collect();
        suspend(&majority, !answers)
    }

    fn forget(&self, name: &str) -> bool {
        for server in &self.0.0 {
            server.command(&["DEL", &key(name)]);
        }
        true
    }

    fn keeps(&self) -> bool {
        false
    }

    /// No restart guard is needed: the servers are new, and do not replace earlier ones.
    fn config(&self) -> Config {
        config(self.url()).restart_guard(false)
    }
}
