//! What must compile, and what must not: with which words, and at which place.
//!
//! The texts are those of one compiler. With another, only what must compile is tried. To write them anew:
//! `TRYBUILD=overwrite cargo test -p auto-mutex-tests --test ui`, and read every one.

use std::process::Command;

/// The compiler whose words are in the `.stderr` files.
const COMPILER: &str = "rustc 1.95.";

#[test]
fn ui() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/ui/pass/*.rs");
    let version = Command::new(std::env::var_os("RUSTC").unwrap_or("rustc".into()))
        .arg("--version")
        .output()
        .expect("a compiler");
    let version = String::from_utf8_lossy(&version.stdout);
    if version.starts_with(COMPILER) {
        cases.compile_fail("tests/ui/fail/*/*.rs");
    } else {
        eprintln!("the texts are those of {COMPILER}x, this is {version}: not compared");
    }
}
