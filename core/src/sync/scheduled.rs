use std::hash::{BuildHasherDefault, DefaultHasher};

/// Two names that share a shard share it in every run.
pub(crate) type RandomState = BuildHasherDefault<DefaultHasher>;

pub(crate) fn chosen_bytes() -> Option<[u8; 16]> {
    use shuttle::rand::Rng;
    Some(shuttle::rand::thread_rng().r#gen())
}
