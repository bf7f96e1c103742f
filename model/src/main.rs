//! Explores the runs and prints their tables: `model/run --help`.

use std::process::ExitCode;

const HELP: &str = "model/run [PART OF A NAME]

Looks at every state of the search for deadlocks, and prints what was found";

fn main() -> ExitCode {
    let only = std::env::args().nth(1).unwrap_or_default();
    if ["--help", "-h"].contains(&&*only) {
        println!("{HELP}");
        return ExitCode::SUCCESS;
    }
    let good = auto_mutex_model::deadlock::check::report(&only);
    ExitCode::from(u8::from(!good))
}
