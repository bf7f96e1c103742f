//! The scenarios: what each measures, and how the report shows it.

mod bench;
mod cycle;
pub(crate) mod growth;
mod handoff;
mod held;
pub(crate) mod herd;
mod keys;
mod nested;
mod one_key;
pub(crate) mod postgres;
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
    pub(crate) plot: Plot,
}

/// What is plotted of a table, on a logarithmic scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plot {
    None,
    /// The figure with this key.
    Figure(&'static str),
    /// A line for each row, over the columns whose keys are numbers: numbers of this.
    Growth(&'static str),
}

/// One figure of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    pub(crate) key: &'static str,
    pub(crate) heading: &'static str,
    /// Whether the figure is also shown as a ratio to rslock, pair by pair.
    pub(crate) ratio: bool,
    pub(crate) page: OnPage,
}

/// How the page shows a column. The terminal shows all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnPage {
    Hidden,
    /// Where a contender was measured in several placements, that of clients on the second processor.
    Once,
    /// One column for each placement.
    ByPlacement,
}

impl Column {
    const fn new(key: &'static str, heading: &'static str) -> Self {
        Self {
            key,
            heading,
            ratio: false,
            page: OnPage::Once,
        }
    }

    const fn ratio(self) -> Self {
        Self {
            ratio: true,
            ..self
        }
    }

    const fn hidden(self) -> Self {
        Self {
            page: OnPage::Hidden,
            ..self
        }
    }

    const fn by_placement(self) -> Self {
        Self {
            page: OnPage::ByPlacement,
            ..self
        }
    }
}

/// All scenarios, in the order of the report.
pub(crate) const ALL: [&Scenario; 14] = [
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
    &growth::SCENARIO,
];

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
const CONNECTIONS: Column = Column::new("connections", "connections").hidden();
const FOREIGN: Column = Column::new("foreign_cpu", "others' CPUs").hidden();
