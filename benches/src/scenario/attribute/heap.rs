//! Runs this package's other program, which counts allocations.

use std::process::{Command, Stdio};

use super::{CALLS, HEAP};
use crate::Failure;
use crate::heap::Counted;
use crate::run::Placement;
use crate::scenario::Bench;
use crate::scenario::bench::progress;
use crate::server::Server;

const PROGRAM: &str = "auto-mutex-bench-heap";

pub(super) fn run(bench: &mut Bench) -> Result<(), Failure> {
    progress("S7, allocations");
    let program = std::env::current_exe()?.with_file_name(PROGRAM);
    if !program.exists() {
        bench.note(format!(
            "allocations: skipped, {PROGRAM} is not built (cargo build --release -p auto-mutex-bench)"
        ));
        return Ok(());
    }
    let server = Server::start()?;
    let output = Command::new(program)
        .arg(server.url())
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err(format!("{PROGRAM} failed: {}", output.status).into());
    }
    let counted: Counted = serde_json::from_slice(&output.stdout)?;
    for (kind, blocks) in &counted.calls {
        bench.add(
            CALLS,
            Placement::Alone,
            kind.label(),
            0,
            [("allocations".to_owned(), *blocks)].into(),
        );
    }
    let figures = [
        ("auto-mutex, one cycle", "allocations", counted.cycle),
        ("auto-mutex, one cycle, retain", "allocations", counted.kept),
        (
            "redis-rs, the same requests",
            "allocations",
            counted.redis_own,
        ),
        (
            "auto-mutex beyond redis-rs",
            "allocations",
            counted.cycle - counted.redis_own,
        ),
        ("auto-mutex, a waiter", "bytes", counted.waiter),
    ];
    for (who, figure, value) in figures {
        bench.add(
            HEAP,
            Placement::Same,
            who,
            0,
            [(figure.to_owned(), value)].into(),
        );
    }
    Ok(())
}
