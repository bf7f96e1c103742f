//! Explores the runs and prints their tables: `model/run --help`.

use std::process::ExitCode;
use std::thread::available_parallelism;

const HELP: &str = "model/run [--large] [PART OF A NAME]

Looks at every state of the protocol under some rules, and prints what was found.
  --large    also the runs that take minutes, and some GB";

fn main() -> ExitCode {
    let (mut large, mut only) = (false, String::new());
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--large" => large = true,
            "--help" | "-h" => {
                println!("{HELP}");
                return ExitCode::SUCCESS;
            }
            name => only = name.to_owned(),
        }
    }
    let threads = available_parallelism().map_or(1, usize::from);
    let protocol = auto_mutex_model::runs::report(large, &only, threads);
    let deadlocks = auto_mutex_model::deadlock::check::report(&only);
    let leading = auto_mutex_model::leading::check::report(&only);
    if protocol && deadlocks && leading {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
