//! A World behaves as real machines do, and repeats itself.

mod faults;
mod repeats;
mod table;
mod time;

use std::time::Duration;

use super::{Runs, World, run};
use crate::base::name::Name;
use crate::base::wait::lock;
use crate::locks::client::Client;
use crate::store::{MemberId, NameRecord};

const SECOND: Duration = Duration::from_secs(1);

async fn sleep(seconds: u32) {
    tokio::time::sleep(SECOND * seconds).await;
}

/// For simulations.
impl World {
    /// What the store knows of the locks.
    pub(crate) fn records(&self) -> Vec<(Name, NameRecord)> {
        lock(&self.0.server).records()
    }

    /// All that the store has of the locks, tombstones and signals too.
    pub(crate) fn left_in_store(&self) -> Vec<String> {
        let server = lock(&self.0.server);
        let left = server.names.iter().filter(|(_, state)| !state.is_idle());
        left.map(|(name, state)| format!("{name}: {state:?}"))
            .collect()
    }

    pub(crate) fn id(&self, client: &Client) -> MemberId {
        self.member(client).id
    }
}
