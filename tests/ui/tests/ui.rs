//! Programs that must compile, and programs that must not: with which error texts, and at which places.
//!
//! Programs that must compile (`pass`) are part of this package; cargo builds them before this test runs them (`world` is tests,
//! and runs with them). trybuild
//! checks the programs that must not compile (`fail`), all at once. The error texts are those of one compiler; those of
//! another are not compared. To update them: `TRYBUILD=overwrite cargo test -p auto-mutex-ui`, and read every one.

#[path = "../pass/world.rs"]
#[deny(warnings)]
#[allow(dead_code, unreachable_pub)]
mod world;

use std::process::Command;

/// The compiler whose error texts are in the `.stderr` files.
const COMPILER: &str = "rustc 1.95.";

#[test]
fn what_must_compile_runs() {
    for program in [
        env!("CARGO_BIN_EXE_ui-attributes"),
        env!("CARGO_BIN_EXE_ui-hostile"),
        env!("CARGO_BIN_EXE_ui-imports"),
        env!("CARGO_BIN_EXE_ui-kinds"),
        env!("CARGO_BIN_EXE_ui-leader"),
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
        // No program among these may compile: otherwise trybuild would build them one after the other.
        trybuild::TestCases::new().compile_fail("fail/*/*.rs");
    } else {
        eprintln!("the texts are those of {COMPILER}x, this is {version}: not compared");
    }
}
