//! What tests of the engines need from this crate (feature `test-util`). Not for programs.

#![allow(missing_docs)]

use std::fs;
use std::panic::catch_unwind;
use std::path::Path;

pub use crate::base::clock::by_hand;
use crate::store::credentials::{CredentialsProvider, Source};
pub use crate::store::id::seed;
pub use auto_mutex_protocol::Dice;

/// A source that asks `provider` for the credentials of single servers.
pub fn source(provider: impl CredentialsProvider) -> Source {
    Source::new(provider)
}

/// Calls a fuzz target with the files of its corpus.
pub fn replay(name: &str, target: fn(&[u8])) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let mut inputs = 0;
    for entry in fs::read_dir(corpus.join(name)).unwrap() {
        let path = entry.unwrap().path();
        let bytes = fs::read(&path).unwrap();
        // See `fuzz/run --keep`.
        for input in bytes.split(|byte| *byte == 0x1c) {
            if catch_unwind(|| target(input)).is_err() {
                panic!("{}: {:?}", path.display(), input.escape_ascii());
            }
            inputs += 1;
        }
    }
    assert!(inputs > 3, "{name} has a corpus of {inputs}");
}
