//! What only the tests of the locks contain, which have the files of this kit as a module: it looks inside of clients,
//! and names their parts by `crate`.

// `cargo shuttle` builds no explorer.
#[cfg(not(shuttle))]
mod by_hand;
#[cfg(not(shuttle))]
mod counterexamples;

use auto_mutex_core::Client;
use auto_mutex_core::store::{MemberId, Name, NameRecord, lock};

use super::super::World;

#[doc(hidden)]
impl World {
    /// What the store knows of the locks.
    pub fn records(&self) -> Vec<(Name, NameRecord)> {
        lock(&self.0.server).records()
    }

    /// Under which the store knows the client.
    pub fn id(&self, client: &Client) -> MemberId {
        self.member(client).id
    }
}
