//! S5: the time from the release in one process to the entry of a waiter in another process.

use super::{BYTES, Bench, CONNECTIONS, Column, FOREIGN, SERVER_US, Scenario, Table};
use crate::Failure;
use crate::peer::Contender;
use crate::run::{Contest, Placement, contest};

pub(super) const NAME: &str = "S5";

/// How long a task holds the lock: long enough for the other process to wait again.
const BODY_US: u64 = 2_000;

pub(super) const SCENARIO: Scenario = Scenario {
    id: NAME,
    tables: &[Table {
        name: NAME,
        title: "S5: two processes, 2 ms inside; from leaving in one to entering in the other",
        columns: &[
            Column::with_ratio("handoff_p50_us", "p50 µs"),
            Column::new("handoff_p99_us", "p99 µs"),
            Column::new("release_p50_us", "release µs"),
            Column::new("handoff_per_release", "per release"),
            Column::new("handoffs", "handoffs"),
            Column::new("requests", "requests"),
            BYTES,
            SERVER_US,
            CONNECTIONS,
            FOREIGN,
        ],
        plot: Some("handoff_p50_us"),
    }],
    counts: false,
    run,
};

fn run(bench: &mut Bench) -> Result<(), Failure> {
    let (options, dir) = (bench.options().clone(), bench.dir());
    for placement in [Placement::Same, Placement::Split] {
        bench.rounds(
            NAME,
            placement,
            // With awaited releases: the report compares the time of a handoff with the time of a release.
            &[
                Contender::AutoMutexAwaited,
                Contender::AutoMutexKeptAwaited,
                Contender::Rslock,
                Contender::Distkit,
                Contender::PgAdvisoryLock,
                Contender::NodeRedisSemaphore,
                Contender::PythonRedis,
                Contender::PythonRedisLock,
            ],
            options.repetitions,
            |server, contender| {
                // Libraries that poll hand off rarely.
                let longer = options.page && !contender.is_external();
                let two = Contest {
                    contender,
                    placement,
                    processes: 2,
                    tasks: 1,
                    one_key: true,
                    body_us: BODY_US,
                    seconds: options.seconds * if longer { 2.0 } else { 1.0 },
                };
                contest(server, &two, &dir, true)
            },
        )?;
    }
    Ok(())
}
