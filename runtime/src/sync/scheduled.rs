//! Randomness under shuttle: a replay of a schedule draws the same.

use std::hash::{BuildHasherDefault, DefaultHasher};

/// The same hashes in every run, so that threads meet in the same places.
pub(crate) type RandomState = BuildHasherDefault<DefaultHasher>;

pub(crate) fn chosen_bytes() -> Option<[u8; 16]> {
    use shuttle::rand::Rng;
    Some(shuttle::rand::thread_rng().r#gen())
}
