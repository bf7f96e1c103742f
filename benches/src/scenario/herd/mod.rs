//! S10: many clients that start at once, and lose their server at once. `place.rs` starts the stores and makes them
//! fail.

pub(crate) mod place;

use std::time::Instant;

use self::place::{Kind, Place};
use super::bench::progress;
use super::{Bench, Column, FOREIGN, Plot, Scenario, Table};
use crate::Failure;
use crate::clock;
use crate::job::{Herd, Job};
use crate::measure::Values;
use crate::measure::cpu::Usage;
use crate::run::{Child, Placement};
use crate::worker::talk::Span;
use crate::worker::{Herded, Started};

const NAME: &str = "S10";
const CLIENTS: usize = 3_000;
const PROCESSES: usize = 4;

pub(super) const SCENARIO: Scenario = Scenario {
    id: NAME,
    tables: &[Table {
        name: NAME,
        title: "S10: 3,000 clients in 4 processes, each with a lock of its own twice a second, start at once; then a primary is killed",
        columns: &[
            Column::new("clients", "clients").hidden(),
            Column::new("start_s", "start: all served after s"),
            Column::new("start_not_served", "start: not served").hidden(),
            Column::new("not_served", "not served"),
            Column::new("served_s", "killed: all served after s"),
            Column::new("again_s", "all once more after s").hidden(),
            Column::new("server_cpu_s", "servers' CPU s").hidden(),
            Column::new("kb_per_client", "KB sent per client"),
            Column::new("connections_per_client", "connections per client").hidden(),
            Column::new("memory_kb_per_client", "server KB per client"),
            FOREIGN,
        ],
        plot: Plot::None,
    }],
    counts: false,
    run,
};

fn run(bench: &mut Bench) -> Result<(), Failure> {
    let options = bench.options().clone();
    let rounds = if options.quick || options.page {
        1
    } else {
        options.few_repetitions()
    };
    let placement = Placement::Both;
    for kind in Kind::ALL {
        for round in 0..rounds {
            progress(&format!("{NAME}, {}, round {}", kind.label(), round + 1));
            let values = measure(kind, placement)?;
            bench.add(NAME, placement, kind.label(), round, values);
        }
        bench.save()?;
    }
    Ok(())
}

fn measure(kind: Kind, placement: Placement) -> Result<Values, Failure> {
    let mut place = Place::open(kind)?;
    let job = Job::Herd(Herd {
        url: place.url(),
        clients: CLIENTS / PROCESSES,
    });
    let empty = place.figures().memory;
    let started = clock::now();
    let mut herd = (0..PROCESSES)
        .map(|_| Child::start(&job, placement))
        .collect::<Result<Vec<_>, _>>()?;
    let (mut start_at, mut start_served) = (started, 0);
    for child in &herd {
        let start: Started = child.expect("started")?;
        start_at = start_at.max(start.at);
        start_served += start.served;
        child.expect::<()>("ready")?;
    }
    // Each client has a connection and a name.
    let memory = place.figures().memory.saturating_sub(empty);
    let pids: Vec<_> = herd.iter().map(Child::pid).collect();
    let (usage, began) = (Usage::now(pids.iter().copied()), Instant::now());
    let struck = place.strike()?;
    let before = place.figures();
    for child in &mut herd {
        child.go(Span {
            start: struck,
            until: 0,
        })?;
    }
    let (mut served, mut again) = (0, 0);
    let (mut served_at, mut again_at) = (struck, struck);
    for child in &herd {
        let herded: Herded = child.expect("done")?;
        served += herded.served;
        again += herded.again;
        served_at = served_at.max(herded.served_at);
        again_at = again_at.max(herded.again_at);
    }
    let after = place.figures();
    let others = Usage::now(pids.into_iter().chain(place.pids())).foreign_since(usage);
    let foreign = others / began.elapsed().as_secs_f64();
    let seconds = |from: u64, at: u64| (at - from) as f64 / clock::SECOND as f64;
    let per_client = |total: u64| total as f64 / CLIENTS as f64;
    let values = [
        ("clients", CLIENTS as f64),
        ("start_s", seconds(started, start_at)),
        ("start_not_served", (CLIENTS - start_served) as f64),
        ("not_served", (CLIENTS - served.min(again)) as f64),
        ("served_s", seconds(struck, served_at)),
        ("again_s", seconds(struck, again_at)),
        ("server_cpu_s", after.cpu - before.cpu),
        (
            "kb_per_client",
            per_client(after.received - before.received) / 1000.0,
        ),
        (
            "connections_per_client",
            per_client(after.connections - before.connections),
        ),
        ("memory_kb_per_client", per_client(memory) / 1000.0),
        ("foreign_cpu", foreign),
    ];
    Ok(values.map(|(name, value)| (name.to_owned(), value)).into())
}
