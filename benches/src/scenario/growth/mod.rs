//! S14: how costs grow with the number of names, waiters, clients and held locks.

mod clients;
mod held;
mod names;
mod waiters;

use super::bench::progress;
use super::{Bench, Column, Plot, Scenario, Table};
use crate::Failure;
use crate::measure::Values;
use crate::peer::Contender;
use crate::run::Placement;
use crate::server::Server;

const NAMES: &str = "S14 names";
pub(crate) const WAITERS: &str = "S14 waiters";
const CLIENTS: &str = "S14 clients";
const HELD: &str = "S14 held";

/// The longest script or function with 10,000 waiters.
const LONGEST: &str = "longest_ms";

/// The column of a size: its key is the size, so that a plot knows where to draw it.
const fn size(key: &'static str, heading: &'static str) -> Column {
    Column::new(key, heading)
}

const SIZES: [Column; 4] = [
    size("10", "10"),
    size("100", "100"),
    size("1000", "1,000"),
    size("10000", "10,000"),
];

const fn table(
    name: &'static str,
    title: &'static str,
    unit: &'static str,
    columns: &'static [Column],
) -> Table {
    Table {
        name,
        title,
        columns,
        plot: Plot::Growth(unit),
    }
}

pub(super) const SCENARIO: Scenario = Scenario {
    id: "S14",
    tables: &[
        table(
            NAMES,
            "S14: as many tasks as names, one process; the server's µs per call",
            "names",
            &SIZES,
        ),
        table(
            WAITERS,
            "S14: waiters of one name get the lock one after another; the server's µs per handoff",
            "waiters",
            &[
                SIZES[0],
                SIZES[1],
                SIZES[2],
                SIZES[3],
                Column::new(LONGEST, "longest script of 10,000, ms"),
            ],
        ),
        table(
            CLIENTS,
            "S14: clients connect at once and use a lock; the server's ms per client",
            "clients",
            &[SIZES[0], SIZES[1], SIZES[2], size("3000", "3,000")],
        ),
        table(
            HELD,
            "S14: locks that one process holds with a lease of 10 s; % of the server's processor",
            "held locks",
            &SIZES,
        ),
    ],
    counts: false,
    run,
};

const ALL: [usize; 4] = [10, 100, 1_000, 10_000];

fn run(bench: &mut Bench) -> Result<(), Failure> {
    for part in [names::run, waiters::run, clients::run, held::run] {
        part(bench)?;
        bench.save()?;
    }
    Ok(())
}

/// PostgreSQL is started with little more than a thousand.
const MOST_CONNECTIONS: usize = 1_000;

/// Measures a figure of each contender with each size that it can have.
fn grow(
    bench: &mut Bench,
    table: &str,
    contenders: &[Contender],
    sizes: &[usize],
    mut figure: impl FnMut(&mut Server, Contender, usize) -> Result<f64, Failure>,
) -> Result<(), Failure> {
    let mut failed = Vec::new();
    // A part takes minutes.
    let rounds = match bench.options() {
        options if options.page || options.quick => 1,
        options => options.few_repetitions(),
    };
    bench.rounds(table, PLACEMENT, contenders, rounds, |server, contender| {
        let mut values = Values::new();
        for &size in sizes {
            let connections = match table {
                CLIENTS => contender.needs_postgres(),
                _ => contender.connects_each(),
            };
            if connections && size > MOST_CONNECTIONS {
                continue;
            }
            progress(&format!("{table}: {size}"));
            // The smaller sizes count even so.
            match figure(server, contender, size) {
                Ok(value) => drop(values.insert(size.to_string(), value)),
                Err(error) => {
                    failed.push(format!("{table}, {}, {size}: {error}", contender.label()))
                }
            }
        }
        Ok(values)
    })?;
    failed.into_iter().for_each(|why| bench.note(why));
    Ok(())
}

/// The server has a processor of its own.
const PLACEMENT: Placement = Placement::Split;
