//! S1: one task, one key: the time of a cycle.

use super::{BYTES, Bench, CONNECTIONS, Column, FOREIGN, Plot, SERVER_US, Scenario, Table};
use crate::Failure;
use crate::peer::Contender;
use crate::run::{Contest, Placement, contest};

pub(super) const NAME: &str = "S1";

pub(super) const SCENARIO: Scenario = Scenario {
    id: NAME,
    tables: &[Table {
        name: NAME,
        title: "S1: one task, one key; the time of a cycle",
        columns: &[
            Column::new("cycle_p50_us", "p50 µs").ratio().by_placement(),
            Column::new("cycle_p99_us", "p99 µs").hidden(),
            Column::new("wait_p50_us", "to enter µs").hidden(),
            Column::new("requests", "requests"),
            BYTES,
            SERVER_US,
            CONNECTIONS,
            FOREIGN,
        ],
        plot: Plot::Figure("cycle_p50_us"),
    }],
    counts: false,
    run,
};

fn run(bench: &mut Bench) -> Result<(), Failure> {
    let (options, dir) = (bench.options().clone(), bench.dir());
    let contenders = [
        Contender::AutoMutex,
        Contender::Rslock,
        Contender::AutoMutexAttribute,
        Contender::AutoMutexAwaited,
        Contender::AutoMutexKept,
        Contender::Distkit,
        Contender::PgAdvisoryLock,
        Contender::Raw,
        Contender::NodeRedisSemaphore,
        Contender::NodeRedlock,
        Contender::PythonRedis,
        Contender::PythonRedisLock,
    ];
    for placement in [Placement::Same, Placement::Split] {
        bench.rounds(
            NAME,
            placement,
            &contenders,
            options.repetitions,
            |server, contender| {
                let one = Contest {
                    contender,
                    placement,
                    processes: 1,
                    tasks: 1,
                    one_key: true,
                    body_us: 0,
                    seconds: options.seconds,
                };
                contest(server, &one, &dir, false)
            },
        )?;
    }
    Ok(())
}
