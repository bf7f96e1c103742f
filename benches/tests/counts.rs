//! Goals of the benchmarks that hardly depend on the machine.

use std::process::Command;

#[test]
fn the_counts_meet_their_goals() {
    // The benchmarks pin each process to a processor.
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    if Command::new("taskset").arg("--version").output().is_err() || processors < 2 {
        return eprintln!("not run: it takes taskset (Debian: util-linux) and two processors");
    }
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let bench = Command::new(env!("CARGO_BIN_EXE_auto-mutex-bench"))
        .args(["--gates", "counts"])
        .current_dir(root)
        .status();
    assert!(bench.expect("the benchmarks start").success());
}
