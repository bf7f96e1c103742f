//! Benchmarks of auto-mutex beside other lock libraries: see `benches/README.md`.
//!
//! A `scenario` defines the processes and their jobs; `run` starts them, pinned to processors and in a fair order. In
//! each process, a `worker` uses the locks of a `peer`. `measure` turns the records into figures, `report` shows them,
//! `gate` compares them with the goals, and `page` writes the page about them.

#![forbid(unsafe_code)]

mod clock;
mod gate;
pub mod heap;
mod job;
mod measure;
mod options;
mod page;
mod peer;
mod report;
mod results;
mod run;
mod scenario;
mod server;
mod worker;

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use options::{Gates, Options};
use results::Report;
use scenario::Bench;

pub(crate) type Failure = Box<dyn Error + Send + Sync>;

/// The main function of the program `auto-mutex-bench`.
#[must_use]
pub fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let result = match args.next().as_deref() {
        Some("worker") => worker::serve(&args.next().unwrap_or_default()).map(|()| true),
        _ => benchmark(),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("auto-mutex-bench: {error}");
            ExitCode::from(2)
        }
    }
}

/// Runs the benchmarks and returns whether all goals of `options.gates` were met.
fn benchmark() -> Result<bool, Failure> {
    let Some(options) = Options::parse(std::env::args().skip(1))? else {
        return Ok(true);
    };
    std::fs::create_dir_all(&options.out)?;
    let mut report = if options.report {
        Report::load(&options.out.join("results.json"))?
    } else {
        let mut bench = Bench::new(options.clone())?;
        scenario::run(&mut bench)?;
        bench.finish()
    };
    report.verdicts = gate::judge(&report);
    report.show(&options)?;
    report.save(&options.out)?;
    if options.page {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        page::write(&report, &root)?;
    }
    println!("\nresults.json and plots are in {}", options.out.display());
    Ok(match options.gates {
        Gates::None => true,
        Gates::All => gate::passes(&report.verdicts, false),
        Gates::Counts => gate::passes(&report.verdicts, true),
    })
}
