//! The benchmarks: see `benches/README.md`.

use std::process::ExitCode;

fn main() -> ExitCode {
    auto_mutex_bench::main()
}
