//! What the simulations of the locks ask a World.

use auto_mutex_core::Client;
use auto_mutex_core::store::{MemberId, Name, NameRecord, lock};

use super::World;

#[doc(hidden)]
impl World {
    /// What the store knows of the locks.
    pub fn records(&self) -> Vec<(Name, NameRecord)> {
        lock(&self.0.server).records()
    }

    /// All that the store has of the locks, tombstones and signals too.
    pub fn left_in_store(&self) -> Vec<String> {
        let server = lock(&self.0.server);
        let left = server.names.iter().filter(|(_, state)| !state.is_idle());
        left.map(|(name, state)| format!("{name}: {state:?}"))
            .collect()
    }

    /// Under which the store knows the client.
    pub fn id(&self, client: &Client) -> MemberId {
        self.member(client).id
    }
}
