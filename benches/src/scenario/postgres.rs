//! S12: the locks on PostgreSQL beside those on Redis, and beside what PostgreSQL itself has.

use std::thread;
use std::time::Duration;

use super::bench::progress;
use super::waiters::{self, Crowd};
use super::{BYTES, Bench, CONNECTIONS, Column, FOREIGN, Plot, SERVER_US, Scenario, Table};
use crate::Failure;
use crate::peer::Contender;
use crate::run::{Contest, Fleets, Placement, contest, order};
use crate::server::Server;

pub(super) const ID: &str = "S12";
const MANY: &str = "S12 many";
const ONE_KEY: &str = "S12 one key";
const WAITERS: &str = "S12 waiters";
const IDLE: &str = "S12 idle";
pub(crate) const ALONE: &str = "auto-mutex, alone";
pub(crate) const THOUSAND: &str = "auto-mutex, 1,000 idle clients";
/// How many idle clients are connected, besides the two that take turns.
const FLEETS: [(usize, &str); 3] = [
    (0, ALONE),
    (100, "auto-mutex, 100 idle clients"),
    (1_000, THOUSAND),
];

pub(super) const SCENARIO: Scenario = Scenario {
    id: ID,
    tables: &[
        Table {
            name: ID,
            title: "S12: one task, one key; the time of a cycle",
            columns: &[
                Column::new("cycle_p50_us", "p50 µs").by_placement(),
                Column::new("cycle_p99_us", "p99 µs").hidden(),
                Column::new("wait_p50_us", "to enter µs").hidden(),
                Column::new("requests", "requests").hidden(),
                BYTES,
                SERVER_US,
                CONNECTIONS,
                FOREIGN,
            ],
            plot: Plot::Figure("cycle_p50_us"),
        },
        Table {
            name: MANY,
            title: "S12: 64 tasks, 64 keys, one process",
            columns: &[
                Column::new("per_second", "cycles/s"),
                Column::new("cycle_p50_us", "p50 µs").hidden(),
                Column::new("cycle_p99_us", "p99 µs").hidden(),
                Column::new("requests", "requests").hidden(),
                BYTES.hidden(),
                SERVER_US,
                CONNECTIONS,
                FOREIGN,
            ],
            plot: Plot::Figure("per_second"),
        },
        Table {
            name: ONE_KEY,
            title: "S12: 8 processes of 8 tasks, one key",
            columns: &[
                Column::new("per_second", "cycles/s"),
                Column::new("wait_p50_ms", "wait p50 ms").hidden(),
                Column::new("wait_p99_ms", "p99 ms").hidden(),
                Column::new("wait_max_ms", "max wait ms"),
                Column::new("jain_tasks", "Jain, tasks"),
                Column::new("requests", "requests").hidden(),
                SERVER_US,
                CONNECTIONS,
                Column::new("overlaps", "overlaps").hidden(),
                FOREIGN,
            ],
            plot: Plot::Figure("per_second"),
        },
        Table {
            name: WAITERS,
            title: "S12: 1,000 waiters of one process, 100 for those with a connection each, on a key that another process holds",
            columns: waiters::COLUMNS,
            plot: Plot::None,
        },
        Table {
            name: IDLE,
            title: "S12: two processes take turns, beside idle clients in the same database",
            columns: &[
                Column::new("per_second", "cycles/s"),
                Column::new("wait_p50_ms", "wait p50 ms").hidden(),
                Column::new("wait_p99_ms", "p99 ms").hidden(),
                Column::new("requests", "requests").hidden(),
                SERVER_US,
            ],
            plot: Plot::Figure("per_second"),
        },
    ],
    counts: false,
    run,
};

const ALL: &[Contender] = &[
    Contender::AutoMutexPostgresAwaited,
    Contender::TwoSelects,
    Contender::AutoMutexPostgres,
    Contender::PgAdvisoryLock,
    Contender::SelectForUpdate,
];
const CROWDED: &[Contender] = &[
    Contender::AutoMutexPostgres,
    Contender::PgAdvisoryLock,
    Contender::AutoMutexPostgresLocal,
    Contender::SelectForUpdate,
];
const WAITING: &[Contender] = &[Contender::AutoMutexPostgres, Contender::PgAdvisoryLock];

fn run(bench: &mut Bench) -> Result<(), Failure> {
    let options = bench.options().clone();
    let turns = [
        (ID, Placement::Same, 1, 1, ALL),
        (ID, Placement::Split, 1, 1, ALL),
        (MANY, Placement::Split, 1, 64, ALL),
        (ONE_KEY, Placement::Split, 8, 8, CROWDED),
    ];
    for (table, placement, processes, tasks, contenders) in turns {
        let (rounds, dir) = (options.repetitions, bench.dir());
        bench.rounds(table, placement, contenders, rounds, |server, contender| {
            let contest_of = Contest {
                contender,
                placement,
                processes,
                tasks,
                one_key: table != MANY,
                body_us: 0,
                seconds: options.seconds,
            };
            contest(server, &contest_of, &dir, false)
        })?;
    }
    let (rounds, seconds) = match (options.quick, options.page) {
        (true, _) => (1, 3.0),
        (_, true) => (1, waiters::WINDOW_S),
        _ => (options.few_repetitions(), waiters::WINDOW_S),
    };
    bench.rounds(WAITERS, Placement::Split, WAITING, rounds, |server, who| {
        let crowd = Crowd {
            waiters: if who.connects_each() { 100 } else { 1_000 },
            names: 1,
            seconds,
        };
        waiters::measure(server, who, &crowd)
    })?;
    idle(bench)
}

/// A client without locks stops listening in less.
const IDLE_AFTER: Duration = Duration::from_secs(3);
/// Few, so that they don't wait for the server. What a crowd costs is measured in S14.
const AT_ONCE: usize = 2;

/// Each round ends with the most clients, and the next one begins with them.
fn idle(bench: &mut Bench) -> Result<(), Failure> {
    let contender = Contender::AutoMutexPostgres;
    if bench.present(&[contender]).is_empty() {
        return Ok(());
    }
    let (options, dir) = (bench.options().clone(), bench.dir());
    let mut server = Server::of(contender)?;
    let turns = Contest {
        contender,
        placement: Placement::Split,
        processes: 2,
        tasks: 1,
        one_key: true,
        body_us: 0,
        seconds: options.seconds,
    };
    let mut connected = (0, None);
    for round in 0..options.repetitions {
        for (count, who) in order(&FLEETS, round) {
            progress(&format!("{IDLE}, round {}: {who}", round + 1));
            if connected.0 != count {
                drop(connected.1.take());
                server.until_alone();
                let placement = turns.placement;
                let fleets = Fleets::ready(&server, contender, placement, count, AT_ONCE)?;
                connected = (count, Some(fleets.connect()?));
                thread::sleep(IDLE_AFTER);
            }
            let values = contest(&mut server, &turns, &dir, false)?;
            bench.add(IDLE, turns.placement, who, round, values);
        }
    }
    Ok(())
}
