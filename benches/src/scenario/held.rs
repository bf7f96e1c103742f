//! S9: the cost of holding: 10,000 locks of one process, while nothing else happens.

use super::{Bench, Column, FOREIGN, Scenario, Table};
use crate::Failure;
use crate::job::{Job, Names};
use crate::peer::{Contender, LEASE};
use crate::run::{Child, Placement, Window, window};
use crate::worker::Span;

pub(super) const NAME: &str = "S9";

const LOCKS: usize = 10_000;
/// Renewals are sent three times per lease.
const BEATS_PER_LEASE: f64 = 3.0;

pub(super) const SCENARIO: Scenario = Scenario {
    id: NAME,
    tables: &[Table {
        name: NAME,
        title: "S9: 10,000 held locks of one process; a beat is a third of the lease of 10 s",
        columns: &[
            Column::new("client_cpu_percent", "% of a CPU"),
            Column::new("server_cpu_percent", "server %"),
            Column::new("requests_per_second", "requests/s"),
            Column::new("requests_per_lock_and_beat", "per lock and beat"),
            Column::new("bursts_per_beat", "bursts per beat"),
            Column::new("connections", "connections"),
            FOREIGN,
        ],
        plot: None,
    }],
    counts: true,
    run,
};

fn run(bench: &mut Bench) -> Result<(), Failure> {
    let options = bench.options().clone();
    let (rounds, beats) = if options.quick {
        (1, 2.0)
    } else {
        (options.repetitions.min(3), 3.0)
    };
    let seconds = beats * LEASE.as_secs_f64() / BEATS_PER_LEASE;
    let placement = Placement::Split;
    bench.rounds(
        NAME,
        placement,
        &[Contender::AutoMutex],
        rounds,
        |server, contender| {
            server.clear();
            let job = Job::Hold(Names {
                contender,
                url: server.url(),
                lease_s: LEASE.as_secs(),
                count: LOCKS,
                names: LOCKS,
            });
            let mut holder = Child::start(&job, placement)?;
            holder.expect::<()>("ready")?;
            holder.go(Span { start: 0, until: 0 })?;
            let mut values = window(
                server,
                &Window {
                    contender,
                    pid: holder.pid(),
                    other: None,
                    seconds,
                    bursts: true,
                },
            );
            let percent = |name| values.get(name).copied().unwrap_or(0.0) * 100.0;
            let derived = [
                ("client_cpu_percent", percent("client_cpu")),
                ("server_cpu_percent", percent("server_cpu")),
                ("bursts_per_beat", values["bursts"] / beats),
                (
                    "requests_per_lock_and_beat",
                    values["requests_per_second"] * seconds / beats / LOCKS as f64,
                ),
            ];
            values.extend(derived.map(|(name, value)| (name.to_owned(), value)));
            holder.dismiss();
            holder.expect::<u64>("done")?;
            holder.wait()?;
            Ok(values)
        },
    )
}
