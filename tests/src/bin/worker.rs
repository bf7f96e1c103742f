//! `test-worker`: the process that tests start, control line by line, and kill.

use std::process::ExitCode;

fn main() -> ExitCode {
    auto_mutex_tests::worker::serve::main()
}
