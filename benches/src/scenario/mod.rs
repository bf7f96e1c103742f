//! The scenarios: what each measures, and how the report shows it.

mod bench;
mod cycle;
mod handoff;
mod held;
mod herd;
mod keys;
mod nested;
mod one_key;
mod postgres;
mod shared;
mod snapshot;
mod waiters;

mod attribute;

pub(crate) use bench::Bench;

use crate::Failure;

/// A scenario: one or more tables of figures.
pub(crate) struct Scenario {
    pub(crate) id: &'static str,
    pub(crate) tables: &'static [Table],
    /// Whether the scenario has figures that are nearly independent of the machine.
    pub(crate) counts: bool,
    run: fn(&mut Bench) -> Result<(), Failure>,
}

/// How figures are shown. Each measurement contains the name of its table.
pub(crate) struct Table {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) columns: &'static [Column],
    /// The key of the figure that is plotted, on a logarithmic scale.
    pub(crate) plot: Option<&'static str>,
}

/// One figure of a table.
pub(crate) struct Column {
    pub(crate) key: &'static str,
    pub(crate) heading: &'static str,
    /// Whether the figure is also shown as a ratio to rslock, pair by pair.
    pub(crate) ratio: bool,
}

impl Column {
    const fn new(key: &'static str, heading: &'static str) -> Self {
        Self {
            key,
            heading,
            ratio: false,
        }
    }

    const fn with_ratio(key: &'static str, heading: &'static str) -> Self {
        Self {
            ratio: true,
            ..Self::new(key, heading)
        }
    }
}

/// All scenarios, in the order of the report.
pub(crate) const ALL: [&Scenario; 13] = [
    &cycle::SCENARIO,
    &keys::SCENARIO,
    &one_key::ONE_PROCESS,
    &one_key::MANY_PROCESSES,
    &handoff::SCENARIO,
    &waiters::SCENARIO,
    &attribute::SCENARIO,
    &shared::SCENARIO,
    &held::SCENARIO,
    &herd::SCENARIO,
    &nested::SCENARIO,
    &postgres::SCENARIO,
    &snapshot::SCENARIO,
];

pub(crate) fn table(name: &str) -> Option<&'static Table> {
    let mut tables = ALL.iter().flat_map(|scenario| scenario.tables);
    tables.find(|table| table.name == name)
}

/// Runs the requested scenarios.
pub(crate) fn run(bench: &mut Bench) -> Result<(), Failure> {
    for scenario in ALL {
        let options = bench.options();
        if options.wants(scenario.id) && (scenario.counts || !options.counts_only()) {
            (scenario.run)(bench)?;
            bench.save()?;
        }
    }
    Ok(())
}

/// Both ways, per cycle.
const BYTES: Column = Column::new("bytes", "bytes");
/// The server's processor time per cycle.
const SERVER_US: Column = Column::new("server_us", "server µs");
const CONNECTIONS: Column = Column::new("connections", "connections");
const FOREIGN: Column = Column::new("foreign_cpu", "others' CPUs");
