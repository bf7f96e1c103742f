//! What must compile, and what must not: with which words, and at which place.
//!
//! What must compile (`pass`) are programs of this package, which cargo builds before this test runs them. What must not
//! (`fail`) trybuild checks, all at once. The texts are those of one compiler; another's are not compared. To update
//! them: `TRYBUILD=overwrite cargo test -p auto-mutex-ui`, and read every one.

use std::process::Command;

/// The compiler whose words are in the `.stderr` files.
const COMPILER: &str = "rustc 1.95.";

#[test]
fn what_must_compile_runs() {
    for program in [
        env!("CARGO_BIN_EXE_ui-attributes"),
        env!("CARGO_BIN_EXE_ui-hostile"),
        env!("CARGO_BIN_EXE_ui-imports"),
        env!("CARGO_BIN_EXE_ui-kinds"),
        env!("CARGO_BIN_EXE_ui-macro-rules"),
        env!("CARGO_BIN_EXE_ui-main-sync"),
        env!("CARGO_BIN_EXE_ui-one-line"),
        env!("CARGO_BIN_EXE_ui-renamed"),
        env!("CARGO_BIN_EXE_ui-send"),
        env!("CARGO_BIN_EXE_ui-signatures"),
        env!("CARGO_BIN_EXE_ui-unsafe-fn"),
    ] {
        let output = Command::new(program).output().expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{program}: {said}");
    }
}

#[test]
fn what_must_not_compile_says_why() {
    let version = Command::new(std::env::var_os("RUSTC").unwrap_or("rustc".into()))
        .arg("--version")
        .output()
        .expect("a compiler");
    let version = String::from_utf8_lossy(&version.stdout);
    if version.starts_with(COMPILER) {
        // Nothing that must compile is among them: else trybuild would build one after the other.
        trybuild::TestCases::new().compile_fail("fail/*/*.rs");
    } else {
        eprintln!("the texts are those of {COMPILER}x, this is {version}: not compared");
    }
}
