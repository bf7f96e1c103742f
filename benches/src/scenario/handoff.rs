//! S5: the time from the release in one process to the entry of a waiter in another process.

use super::{BYTES, Bench, CONNECTIONS, Column, FOREIGN, Plot, SERVER_US, Scenario, Table};
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
            Column::new("handoff_p50_us", "p50 µs")
                .ratio()
                .by_placement(),
            Column::new("handoff_p99_us", "p99 µs").by_placement(),
            Column::new("release_p50_us", "release µs").hidden(),
            Column::new("handoff_per_release", "per release").hidden(),
            Column::new("handoffs", "handoffs").hidden(),
            Column::new("requests", "requests").hidden(),
            BYTES.hidden(),
            SERVER_US,
            CONNECTIONS,
            FOREIGN,
        ],
        plot: Plot::Figure("handoff_p50_us"),
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
                let two = Contest {
                    contender,
                    placement,
                    processes: 2,
                    tasks: 1,
                    one_key: true,
                    body_us: BODY_US,
                    seconds: options.seconds,
                };
                contest(server, &two, &dir, true)
            },
        )?;
    }
    Ok(())
}
