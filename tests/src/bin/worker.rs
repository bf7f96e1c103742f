//! `test-worker`: the process that tests start, tell what to lock, and kill.

use std::process::ExitCode;

fn main() -> ExitCode {
    auto_mutex_tests::worker::serve::main()
}
