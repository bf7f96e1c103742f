//! Randomness under shuttle: a replay of a schedule gets the same random values.

use std::hash::{BuildHasherDefault, DefaultHasher};

/// Makes the same hashes in every run. So two names that share a shard share it in every run.
pub(crate) type RandomState = BuildHasherDefault<DefaultHasher>;

pub(crate) fn chosen_bytes() -> Option<[u8; 16]> {
    use shuttle::rand::Rng;
    Some(shuttle::rand::thread_rng().r#gen())
}
