//! The command `auto-mutex`: shows the holders and waiters of a store's locks, and breaks holds.
//!
//! - `args.rs`: the command line. `exit.rs`: exit codes. `commands`: one file for each command.
//! - `output`: JSON documents, tables, times. `signals`: those that end a command, or that `run` passes on.
//!   `problem.rs`: what `doctor` may find.
//! - `top`: the live table. `serve`: the page.

#![forbid(unsafe_code)]

mod args;
mod commands;
mod exit;
mod output;
mod problem;
mod serve;
mod signals;
mod store;
mod top;

use std::process::ExitCode;

use clap::Parser as _;

use self::args::{Cli, Format};
use self::exit::Failure;

fn main() -> ExitCode {
    // On incorrect usage, clap ends the process here with the documented exit code 2.
    let cli = Cli::parse();
    let format = cli.global.output.unwrap_or(Format::Table);
    match commands::run(cli) {
        Ok(exit) => exit.into(),
        Err(Failure::Unread) => ExitCode::SUCCESS,
        Err(failure) => {
            match format {
                Format::Table => output::complain(&failure),
                _ => output::json::complain(&failure),
            }
            ExitCode::from(failure.code())
        }
    }
}
