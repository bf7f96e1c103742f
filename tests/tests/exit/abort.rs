//! A program built with `panic = "abort"`, so that every panic ends it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use auto_mutex_tests::events::LONG;
use auto_mutex_tests::redis::Redis;
use auto_mutex_tests::worker::Setup;

use super::is_released;

/// Returns the newest build of the worker's library in the folder of this test.
fn library(folder: &Path) -> PathBuf {
    let built = |path: &Path| -> Option<SystemTime> {
        let name = path.file_name()?.to_str()?;
        let is_it = name.starts_with("libauto_mutex_tests-") && name.ends_with(".rlib");
        is_it.then(|| path.metadata().ok()?.modified().ok())?
    };
    let files = fs::read_dir(folder).expect("the folder of this test");
    let paths = files.map(|file| file.expect("a file").path());
    let all = paths.filter_map(|path| Some((built(&path)?, path)));
    all.max().expect("the library beside this test").1
}

/// Builds the worker with `panic = "abort"`. This setting of the program applies to its libraries as well, which need
/// not be rebuilt.
fn worker() -> &'static str {
    let test = std::env::current_exe().expect("this program");
    let folder = test.parent().expect("its folder");
    let program = concat!(env!("CARGO_TARGET_TMPDIR"), "/test-worker-that-aborts");
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut library = std::ffi::OsString::from(library(folder));
    let name = std::mem::replace(&mut library, "auto_mutex_tests=".into());
    library.push(name);
    let built = Command::new(rustc)
        .args([
            "--edition",
            "2024",
            "--crate-name",
            "test_worker",
            "-C",
            "panic=abort",
            "-o",
            program,
        ])
        .arg("-L")
        .arg(folder)
        .arg("--extern")
        .arg(library)
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/src/bin/worker.rs"))
        .status()
        .expect("rustc runs");
    assert!(built.success(), "{built}");
    program
}

#[test]
fn a_program_that_aborts_when_it_panics_ends_well() {
    let redis = Redis::start();
    let setup = Setup::new(worker(), redis.url(), LONG);
    for end in ["exit", "return"] {
        let mut worker = setup.start();
        worker.say("log");
        worker.expect("ok");
        worker.lock("m");
        worker.say(end);
        let status = worker.ended();
        assert!(status.success(), "{end}: {status}");
        is_released(&redis);
    }
}
