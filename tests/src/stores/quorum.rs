//! Five independent redis-servers.

use auto_mutex::Config;

use super::pool::{Lent, Pool, empty};
use super::{TestStore, config, key, suspend};
use crate::redis::{Options, Redis};

static IDLE: Pool<Vec<Redis>> = Pool::new(
    || Redis::several(5, &Options::default().least_rights()),
    |servers| servers.iter().all(empty),
);

/// A quorum for one test.
pub struct OnQuorum(Lent<Vec<Redis>>);

/// Takes an idle quorum, or starts a new one.
pub fn quorum() -> OnQuorum {
    OnQuorum(IDLE.take())
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
    fn answer(&self, answers: bool) -> bool {
        let majority: Vec<_> = self.0.iter().take(3).collect();
        suspend(&majority, !answers)
    }

    fn forget(&self, name: &str) -> bool {
        for server in &*self.0 {
            server.command(&["DEL", &key(name)]);
        }
        true
    }

    fn keeps(&self) -> bool {
        false
    }

    /// The user has only the rights that the library needs. No restart guard is needed: the servers are new, and do not
    /// replace earlier ones.
    fn config(&self) -> Config {
        let url = quorum_url(self.0.iter().map(Redis::port));
        config(url.replace("://", "://locks:least@")).restart_guard(false)
    }
}
