//! S3 and S4: 64 tasks on one key, in one process and in eight.

use super::{BYTES, Bench, CONNECTIONS, Column, FOREIGN, Plot, SERVER_US, Scenario, Table};
use crate::Failure;
use crate::peer::Contender;
use crate::run::{Contest, Placement, contest};

pub(super) const ONE: &str = "S3";
pub(super) const MANY: &str = "S4";
pub(super) const MANY_WITH_BODY: &str = "S4 1 ms";

const COLUMNS: &[Column] = &[
    Column::new("per_second", "cycles/s").ratio(),
    Column::new("wait_p50_ms", "wait p50 ms").hidden(),
    Column::new("wait_p99_ms", "p99 ms").hidden(),
    Column::new("wait_max_ms", "max wait ms").ratio(),
    Column::new("wait_max_per_p50", "max/median").hidden(),
    Column::new("jain_tasks", "Jain, tasks"),
    Column::new("jain_processes", "processes").hidden(),
    Column::new("requests", "requests"),
    BYTES.hidden(),
    SERVER_US.hidden(),
    CONNECTIONS,
    Column::new("overlaps", "overlaps").hidden(),
    FOREIGN,
];

pub(super) const ONE_PROCESS: Scenario = Scenario {
    id: ONE,
    tables: &[Table {
        name: ONE,
        title: "S3: 64 tasks, one key, one process",
        columns: COLUMNS,
        plot: Plot::Figure("per_second"),
    }],
    counts: true,
    run: |bench| run(bench, ONE, 1, 0),
};

pub(super) const MANY_PROCESSES: Scenario = Scenario {
    id: MANY,
    tables: &[
        Table {
            name: MANY,
            title: "S4: 8 processes of 8 tasks, one key",
            columns: COLUMNS,
            plot: Plot::Figure("per_second"),
        },
        Table {
            name: MANY_WITH_BODY,
            title: "S4, 1 ms inside: 8 processes of 8 tasks, one key",
            columns: COLUMNS,
            plot: Plot::Figure("wait_max_ms"),
        },
    ],
    counts: true,
    run: |bench| {
        run(bench, MANY, 8, 0)?;
        run(bench, MANY_WITH_BODY, 8, 1000)
    },
};

fn run(bench: &mut Bench, table: &str, processes: usize, body_us: u64) -> Result<(), Failure> {
    let (options, dir) = (bench.options().clone(), bench.dir());
    let mut contenders = vec![
        Contender::AutoMutex,
        Contender::Rslock,
        Contender::AutoMutexLocal,
        Contender::Distkit,
        Contender::PgAdvisoryLock,
    ];
    match processes {
        1 => contenders.push(Contender::AutoMutexLocalAwaited),
        _ => contenders.push(Contender::AutoMutexKept),
    }
    if processes == 1 || options.page {
        contenders.extend([
            Contender::NodeRedisSemaphore,
            Contender::PythonRedis,
            Contender::PythonRedisLock,
        ]);
    }
    let placement = Placement::Split;
    bench.rounds(
        table,
        placement,
        &contenders,
        options.repetitions,
        |server, contender| {
            let crowd = Contest {
                contender,
                placement,
                processes,
                tasks: 64 / processes,
                one_key: true,
                body_us,
                seconds: options.seconds,
            };
            contest(server, &crowd, &dir, false)
        },
    )
}
