//! S12: the locks on PostgreSQL beside those on Redis, and beside what PostgreSQL itself has.

use super::waiters::{self, Crowd};
use super::{BYTES, Bench, CONNECTIONS, Column, FOREIGN, SERVER_US, Scenario, Table};
use crate::Failure;
use crate::peer::Contender;
use crate::run::{Contest, Placement, contest};

pub(super) const ID: &str = "S12";
const MANY: &str = "S12 many";
const ONE_KEY: &str = "S12 one key";
const WAITERS: &str = "S12 waiters";

pub(super) const SCENARIO: Scenario = Scenario {
    id: ID,
    tables: &[
        Table {
            name: ID,
            title: "S12: one task, one key; the time of a cycle",
            columns: &[
                Column::new("cycle_p50_us", "p50 µs"),
                Column::new("cycle_p99_us", "p99 µs"),
                Column::new("wait_p50_us", "to enter µs"),
                Column::new("requests", "requests"),
                BYTES,
                SERVER_US,
                CONNECTIONS,
                FOREIGN,
            ],
            plot: Some("cycle_p50_us"),
        },
        Table {
            name: MANY,
            title: "S12: 64 tasks, 64 keys, one process",
            columns: &[
                Column::new("per_second", "cycles/s"),
                Column::new("cycle_p50_us", "p50 µs"),
                Column::new("cycle_p99_us", "p99 µs"),
                Column::new("requests", "requests"),
                BYTES,
                SERVER_US,
                CONNECTIONS,
                FOREIGN,
            ],
            plot: Some("per_second"),
        },
        Table {
            name: ONE_KEY,
            title: "S12: 8 processes of 8 tasks, one key",
            columns: &[
                Column::new("per_second", "cycles/s"),
                Column::new("wait_p50_ms", "wait p50 ms"),
                Column::new("wait_p99_ms", "p99 ms"),
                Column::new("wait_max_ms", "max wait ms"),
                Column::new("jain_tasks", "Jain, tasks"),
                Column::new("requests", "requests"),
                SERVER_US,
                CONNECTIONS,
                Column::new("overlaps", "overlaps"),
                FOREIGN,
            ],
            plot: Some("per_second"),
        },
        Table {
            name: WAITERS,
            title: "S12: 1,000 waiters of one process, 100 for those with a connection each, on a key that another process holds",
            columns: waiters::COLUMNS,
            plot: None,
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
    Contender::AutoMutex,
    Contender::AutoMutexAwaited,
];
/// Those with a queue.
const QUEUES: &[Contender] = &[
    Contender::AutoMutexPostgres,
    Contender::PgAdvisoryLock,
    Contender::SelectForUpdate,
    Contender::AutoMutex,
];

fn run(bench: &mut Bench) -> Result<(), Failure> {
    let options = bench.options().clone();
    let turns = [
        (ID, Placement::Same, 1, 1, ALL),
        (ID, Placement::Split, 1, 1, ALL),
        (MANY, Placement::Split, 1, 64, ALL),
        (ONE_KEY, Placement::Split, 8, 8, QUEUES),
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
    let (rounds, seconds) = match options.quick {
        true => (1, 3.0),
        false => (options.few_repetitions(), waiters::WINDOW_S),
    };
    bench.rounds(WAITERS, Placement::Split, QUEUES, rounds, |server, who| {
        let crowd = Crowd {
            waiters: if who.connects_each() { 100 } else { 1_000 },
            names: 1,
            seconds,
        };
        waiters::measure(server, who, &crowd)
    })
}
