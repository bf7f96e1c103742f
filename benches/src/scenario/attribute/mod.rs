//! S7: the costs of the attribute: the time and allocations of a call, and the time to compile it.

mod calls;
mod compile;
mod expansion;
mod heap;

use super::{Bench, Column, FOREIGN, Scenario, Table};
use crate::Failure;

pub(super) const CALLS: &str = "S7";
pub(super) const HEAP: &str = "S7 heap";
pub(super) const COMPILE: &str = "S7 compile";

pub(super) const SCENARIO: Scenario = Scenario {
    id: "S7",
    tables: &[
        Table {
            name: CALLS,
            title: "S7: an uncontended call on memory://, beside the function without the attribute",
            columns: &[
                Column::new("ns", "ns per call"),
                Column::new("over_plain_ns", "more than plain"),
                Column::new("allocations", "allocations"),
                FOREIGN,
            ],
            plot: Some("ns"),
        },
        Table {
            name: HEAP,
            title: "S7: allocations of a cycle on Redis, in the whole process; heap of a waiter (S6)",
            columns: &[
                Column::new("allocations", "allocations"),
                Column::new("bytes", "bytes"),
            ],
            plot: None,
        },
        Table {
            name: COMPILE,
            title: "S7: cargo check and cargo build of functions, and what one expands to",
            columns: &[
                Column::new("compile_cpu_s", "CPU s"),
                Column::new("compile_s", "s"),
                Column::new("tokens", "tokens per fn"),
                Column::new("bytes", "bytes per fn"),
                FOREIGN,
            ],
            plot: None,
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
    compile::run(bench)
}
