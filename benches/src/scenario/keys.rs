//! S2: 64 tasks, 64 keys: cycles per second.

use super::{BYTES, Bench, CONNECTIONS, Column, FOREIGN, Plot, SERVER_US, Scenario, Table};
use crate::Failure;
use crate::peer::Contender;
use crate::run::{Contest, Placement, contest};

pub(super) const NAME: &str = "S2";

pub(super) const SCENARIO: Scenario = Scenario {
    id: NAME,
    tables: &[Table {
        name: NAME,
        title: "S2: 64 tasks, 64 keys; the raw limit pipelines 64 commands",
        columns: &[
            Column::new("per_second", "cycles/s").ratio().by_placement(),
            Column::new("cycle_p50_us", "p50 µs").hidden(),
            Column::new("cycle_p99_us", "p99 µs").hidden(),
            Column::new("requests", "requests"),
            BYTES.hidden(),
            SERVER_US,
            CONNECTIONS,
            FOREIGN,
        ],
        plot: Plot::Figure("per_second"),
    }],
    counts: false,
    run,
};

fn run(bench: &mut Bench) -> Result<(), Failure> {
    let (options, dir) = (bench.options().clone(), bench.dir());
    let same = [
        Contender::AutoMutex,
        Contender::Rslock,
        Contender::AutoMutexAwaited,
        Contender::PgAdvisoryLock,
    ];
    let split = [
        Contender::AutoMutex,
        Contender::Rslock,
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
    // The server shares one of the processors.
    let both = [Contender::AutoMutexThreads, Contender::RslockThreads];
    let all: [(_, &[_]); 3] = [
        (Placement::Same, &same),
        (Placement::Split, &split),
        (Placement::Both, &both),
    ];
    for (placement, contenders) in all {
        bench.rounds(
            NAME,
            placement,
            contenders,
            options.repetitions,
            |server, contender| {
                let many = Contest {
                    contender,
                    placement,
                    processes: 1,
                    tasks: 64,
                    one_key: false,
                    body_us: 0,
                    seconds: options.seconds,
                };
                contest(server, &many, &dir, false)
            },
        )?;
    }
    Ok(())
}
