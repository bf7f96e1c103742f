//! What tests of the engines need from this crate (feature `test-util`). Not for programs.

#![allow(missing_docs)]

mod dice;

use std::fs;
use std::panic::catch_unwind;
use std::path::Path;

pub use self::dice::Dice;
pub use crate::base::clock::by_hand;
use crate::store::credentials::{CredentialsProvider, Source};
pub use crate::store::id::seed;

/// A source that asks `provider` for the credentials of single servers.
pub fn source(provider: impl CredentialsProvider) -> Source {
    Source::new(provider)
}

/// Calls a fuzz target with the files of its corpus.
pub fn replay(name: &str, target: fn(&[u8])) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus");
    let mut files = 0;
    for entry in fs::read_dir(corpus.join(name)).unwrap() {
        let path = entry.unwrap().path();
        let bytes = fs::read(&path).unwrap();
        if catch_unwind(|| target(&bytes)).is_err() {
            panic!("{}", path.display());
        }
        files += 1;
    }
    assert!(files > 3, "{name} has a corpus of {files}");
}
