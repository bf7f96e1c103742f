//! Chance as a schedule decides it: what one run of it did, its replay does too.

use std::hash::{BuildHasherDefault, DefaultHasher};

/// Hashes that are the same in every run: threads meet at the same places then.
pub(crate) type RandomState = BuildHasherDefault<DefaultHasher>;

pub(crate) fn chosen_bytes() -> Option<[u8; 16]> {
    use shuttle::rand::Rng;
    Some(shuttle::rand::thread_rng().r#gen())
}
