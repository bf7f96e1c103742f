//! S13: S2 on PostgreSQL, beside a transaction that keeps the server from removing old versions of rows.

use std::sync::atomic::Ordering;

use super::bench::progress;
use super::{Bench, Column, FOREIGN, Plot, SERVER_US, Scenario, Table};
use crate::Failure;
use crate::peer::Contender;
use crate::run::{Contest, Placement, contest};
use crate::server::Server;

const ID: &str = "S13";
const SIZE: &str = "S13 size";
/// How many repetitions there are in a row of the tables.
const ROW: usize = 10;

pub(super) const SCENARIO: Scenario = Scenario {
    id: ID,
    tables: &[
        Table {
            name: ID,
            title: "S13: 64 tasks, 64 keys on PostgreSQL beside an old snapshot",
            columns: &[
                Column::new("per_second", "cycles/s"),
                Column::new("cycle_p50_us", "p50 µs"),
                Column::new("cycle_p99_us", "p99 µs"),
                SERVER_US,
                FOREIGN,
            ],
            plot: Plot::Figure("cycle_p99_us"),
        },
        Table {
            name: SIZE,
            title: "S13: the greatest size of the tables of locks, in MB",
            columns: &[Column::new("table_mb", "MB")],
            plot: Plot::Figure("table_mb"),
        },
    ],
    counts: false,
    run,
};

/// Takes an hour, so it runs only if it is asked for.
fn run(bench: &mut Bench) -> Result<(), Failure> {
    let contender = Contender::AutoMutexPostgres;
    if bench.options().only.is_empty() || bench.present(&[contender]).is_empty() {
        return Ok(());
    }
    let (options, dir) = (bench.options().clone(), bench.dir());
    let mut server = Server::of(contender)?;
    let size = server.watch_tables()?;
    let many = Contest {
        contender,
        placement: Placement::Split,
        processes: 1,
        tasks: 64,
        one_key: false,
        body_us: 0,
        seconds: options.seconds,
    };
    for part in 0..=options.repetitions.div_ceil(ROW) {
        let who = match part {
            0 => "auto-mutex, without a snapshot".to_owned(),
            _ => format!(
                "auto-mutex, repetitions {}–{}",
                (part - 1) * ROW + 1,
                part * ROW
            ),
        };
        if part == 1 {
            server.hold_snapshot()?;
        }
        let left = options.repetitions - ROW * part.saturating_sub(1);
        let rounds = if part == 0 { ROW / 2 } else { ROW };
        for round in 0..left.min(rounds) {
            progress(&format!("{who}, round {}", round + 1));
            size.store(0, Ordering::Relaxed);
            let mut values = contest(&mut server, &many, &dir, false)?;
            let most = size.load(Ordering::Relaxed);
            if most > 0 {
                values.insert("table_mb".to_owned(), most as f64 / 1e6);
            }
            bench.add(ID, many.placement, &who, round, values.clone());
            bench.add(SIZE, many.placement, &who, round, values);
            bench.save()?;
        }
    }
    Ok(())
}
