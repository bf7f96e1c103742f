//! Five independent redis-servers.

use auto_mutex::Config;

use super::{TestStore, config};
use crate::redis::{Options, Redis};

/// A quorum of the test's own.
pub struct OnQuorum(Vec<Redis>);

impl OnQuorum {
    /// Starts five servers side by side.
    #[expect(clippy::new_without_default, reason = "starts processes")]
    pub fn new() -> Self {
        Self::of(5)
    }

    /// Starts so many servers side by side.
    pub fn of(count: usize) -> Self {
        Self(Redis::several(count, &Options::default().least_rights()))
    }

    /// The servers.
    pub fn servers(&self) -> &[Redis] {
        &self.0
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
        let url = quorum_url(self.0.iter().map(Redis::port));
        // The user may do what the library needs and no more.
        url.replace("://", "://locks:least@")
    }

    /// The servers have just been started, and are not a restart of others.
    fn config(&self) -> Config {
        config(self.url()).restart_guard(false)
    }
}
