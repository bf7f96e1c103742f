//! The rounds of a quorum as they ship, above stores as they ship: in random runs on a virtual clock, and in
//! [every state](small) of a small quorum.
//!
//! In a random run, four members use one name on five nodes. The network is unreliable and cuts connections, nodes
//! freeze or lose their data, their clocks differ, and a stranger repeats what it hears. What a stranger changes is not
//! sealed, so no member takes it: `protocol/src/seal.rs` has that rule. A seed repeats a run.

mod leftovers;
mod network;
pub mod properties;
pub mod small;
mod user;
mod world;

use self::world::World;

/// What a run has shown.
#[derive(Debug)]
pub struct Outcome {
    /// How often somebody was granted the lock.
    pub grants: u64,
    /// The first property that did not hold, and how.
    pub broken: Option<(&'static str, String)>,
}

/// The run of a seed.
pub fn run(seed: u64) -> Outcome {
    World::new(seed).run()
}

/// The run of a seed in which all users wait for notifications.
pub fn notifications(seed: u64) -> Outcome {
    World::with(seed, true).run()
}
