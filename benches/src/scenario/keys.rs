//! S2: 64 tasks, 64 keys: cycles per second.

use super::{BYTES, Bench, CONNECTIONS, Column, FOREIGN, SERVER_US, Scenario, Table};
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
            Column::with_ratio("per_second", "cycles/s"),
            Column::new("cycle_p50_us", "p50 µs"),
            Column::new("cycle_p99_us", "p99 µs"),
            Column::new("requests", "requests"),
            BYTES,
            SERVER_US,
            CONNECTIONS,
            FOREIGN,
        ],
        plot: Some("per_second"),
    }],
    counts: false,
    run,
};

fn run(bench: &mut Bench) -> Result<(), Failure> {
    let (options, dir) = (bench.options().clone(), bench.dir());
    let contenders = [
        Contender::AutoMutexThreads,
        Contender::RslockThreads,
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
    // On both processors, only the two contenders with two threads are measured. The server shares one of the processors.
    for (placement, count) in [(Placement::Split, contenders.len()), (Placement::Both, 2)] {
        bench.rounds(
            NAME,
            placement,
            &contenders[..count],
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
