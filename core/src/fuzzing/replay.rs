//! Calls the fuzz targets with each file of their corpus.

use std::fs;
use std::path::Path;

type Target = fn(&[u8]);

const TARGETS: &[(&str, Target)] = &[
    ("names", super::names),
    ("urls", super::urls),
    ("resp", super::resp),
    ("messages", super::messages),
    ("replies", super::replies),
    ("errors", super::errors),
    ("slots", super::slots),
    ("sentinels", super::sentinels),
];

#[test]
fn what_the_fuzzers_found_worth_keeping_does_no_harm() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus");
    for (name, target) in TARGETS {
        let mut files = 0;
        for entry in fs::read_dir(corpus.join(name)).unwrap() {
            let path = entry.unwrap().path();
            let bytes = fs::read(&path).unwrap();
            if std::panic::catch_unwind(|| target(&bytes)).is_err() {
                panic!("{}", path.display());
            }
            files += 1;
        }
        assert!(files > 3, "{name} has a corpus of {files}");
    }
}
