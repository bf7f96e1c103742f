//! S8: locks with several holders at a time. No other library offers them fairly, so only ours are measured.

use super::{BYTES, Bench, CONNECTIONS, Column, FOREIGN, Plot, SERVER_US, Scenario, Table};
use crate::Failure;
use crate::peer::Contender;
use crate::run::{Contest, Placement, contest};

pub(super) const NAME: &str = "S8";

pub(super) const SCENARIO: Scenario = Scenario {
    id: NAME,
    tables: &[Table {
        name: NAME,
        title: "S8: 64 tasks: a semaphore of 8, and a readers-writer lock with one write in ten",
        columns: &[
            Column::new("per_second", "cycles/s"),
            Column::new("wait_p50_ms", "wait p50 ms").hidden(),
            Column::new("wait_p99_ms", "p99 ms").hidden(),
            Column::new("wait_max_ms", "max wait ms"),
            Column::new("jain_tasks", "Jain, tasks"),
            Column::new("requests", "requests").hidden(),
            BYTES,
            SERVER_US,
            CONNECTIONS,
            Column::new("overlaps", "overlaps").hidden(),
            FOREIGN,
        ],
        plot: Plot::Figure("per_second"),
    }],
    counts: true,
    run,
};

fn run(bench: &mut Bench) -> Result<(), Failure> {
    let (options, dir) = (bench.options().clone(), bench.dir());
    let placement = Placement::Split;
    bench.rounds(
        NAME,
        placement,
        &[Contender::AutoMutexSemaphore, Contender::AutoMutexRwLock],
        options.repetitions,
        |server, contender| {
            let crowd = Contest {
                contender,
                placement,
                processes: 1,
                tasks: 64,
                one_key: true,
                body_us: 0,
                seconds: options.seconds,
            };
            contest(server, &crowd, &dir, false)
        },
    )
}
