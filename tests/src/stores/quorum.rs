//! Five independent redis-servers.

use auto_mutex::Config;

use super::pool::{Lent, Pool, Reusable, empty};
use super::{TestStore, config, key};
use crate::redis::{Options, Redis};

static IDLE: Pool<Five> = Pool::new();

/// A quorum that a test has for itself.
pub struct OnQuorum(Lent<Five>);

struct Five(Vec<Redis>);

impl OnQuorum {
    /// One that is idle, or a new one.
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
        // The user may do what the library needs and no more.
        url.replace("://", "://locks:least@")
    }

    fn to_silence(&self) -> Vec<&Redis> {
        self.0.0.iter().take(3).collect()
    }

    fn forget(&self, name: &str) -> bool {
        for server in &self.0.0 {
            server.command(&["DEL", &key(name)]);
        }
        true
    }

    /// The servers have just been started, and are not a restart of others.
    fn config(&self) -> Config {
        config(self.url()).restart_guard(false)
    }
}
