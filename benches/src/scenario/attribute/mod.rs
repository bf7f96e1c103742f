//! S7: the costs of the attribute: the time and allocations of a call, and the time to compile it.

mod calls;
mod compile;
mod expansion;
mod heap;
mod user;

use super::{Bench, Column, FOREIGN, Plot, Scenario, Table};
use crate::Failure;

pub(super) const CALLS: &str = "S7";
pub(super) const HEAP: &str = "S7 heap";
pub(super) const COMPILE: &str = "S7 compile";
pub(super) const BUILD: &str = "S7 build";

pub(super) const SCENARIO: Scenario = Scenario {
    id: "S7",
    tables: &[
        Table {
            name: CALLS,
            title: "S7: an uncontended call on memory://, beside the function without the attribute",
            columns: &[
                Column::new("ns", "ns per call"),
                Column::new("over_plain_ns", "more than plain").hidden(),
                Column::new("allocations", "allocations"),
                FOREIGN,
            ],
            plot: Plot::Figure("ns"),
        },
        Table {
            name: HEAP,
            title: "S7: allocations of a cycle on Redis, in the whole process; heap of a waiter (S6)",
            columns: &[
                Column::new("allocations", "allocations"),
                Column::new("bytes", "bytes"),
            ],
            plot: Plot::None,
        },
        Table {
            name: COMPILE,
            title: "S7: cargo check (or build) of functions with the attribute and without, and what one expands to",
            columns: &[
                Column::new("compile_cpu_s", "CPU s"),
                Column::new("plain_cpu_s", "plain"),
                Column::new("to_plain", "× plain"),
                Column::new("compile_s", "s").hidden(),
                Column::new("tokens", "tokens per fn").hidden(),
                Column::new("bytes", "bytes per fn"),
                FOREIGN,
            ],
            plot: Plot::None,
        },
        Table {
            name: BUILD,
            title: "S7: a clean release build of a program with one lock on Redis",
            columns: &[
                Column::new("build_cpu_s", "CPU s").ratio(),
                Column::new("build_s", "s").hidden(),
                Column::new("megabytes", "stripped MB"),
                FOREIGN,
            ],
            plot: Plot::None,
        },
    ],
    counts: true,
    run,
};

fn run(bench: &mut Bench) -> Result<(), Failure> {
    heap::run(bench)?;
    if bench.options().counts_only() {
        return Ok(());
    }
    calls::run(bench)?;
    expansion::run(bench)?;
    compile::run(bench)?;
    user::run(bench)
}
