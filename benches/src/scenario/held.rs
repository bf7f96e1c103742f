//! S9: the cost of holding: 10,000 locks of one process, while nothing else happens.

use super::{Bench, CONNECTIONS, Column, FOREIGN, Plot, Scenario, Table};
use crate::Failure;
use crate::job::{Job, Names};
use crate::measure::Values;
use crate::peer::{Contender, LEASE};
use crate::run::{Child, Placement, Window, window};
use crate::server::Server;
use crate::worker::Holding;
use crate::worker::talk::Span;

pub(super) const NAME: &str = "S9";
pub(super) const MEMORY: &str = "S9 memory";

const LOCKS: usize = 10_000;
/// Renewals are sent three times per lease.
pub(super) const BEATS_PER_LEASE: f64 = 3.0;

pub(super) const SCENARIO: Scenario = Scenario {
    id: NAME,
    tables: &[
        Table {
            name: NAME,
            title: "S9: 10,000 held locks of one process; a beat is a third of the lease of 10 s",
            columns: &[
                Column::new("client_cpu_percent", "% of a CPU"),
                Column::new("server_cpu_percent", "server %"),
                Column::new("requests_per_second", "requests/s"),
                Column::new("requests_per_lock_and_beat", "per lock and beat").hidden(),
                Column::new("bursts_per_beat", "bursts per beat").hidden(),
                CONNECTIONS,
                FOREIGN,
            ],
            plot: Plot::None,
        },
        Table {
            name: MEMORY,
            title: "S9, memory: 10,000 held locks of one process; of PgAdvisoryLock 100, because each needs a connection",
            columns: &[
                Column::new("server_bytes_held", "server B/held").hidden(),
                Column::new("server_bytes_idle", "server B/released").hidden(),
                Column::new("client_bytes_held", "client B/held").hidden(),
                CONNECTIONS,
            ],
            plot: Plot::Figure("server_bytes_held"),
        },
    ],
    counts: true,
    run,
};

/// The longest lease of auto-mutex: long enough to take all locks.
const MEMORY_LEASE_S: u64 = 30;

/// Measures the memory of the server and of the client, while locks are held and after their release.
fn memory(server: &mut Server, contender: Contender) -> Result<Values, Failure> {
    let locks = match contender.needs_postgres() {
        true => 100,
        false => LOCKS,
    };
    server.clear();
    let empty = server.memory();
    let job = Job::Hold(Names {
        contender,
        url: server.url(),
        lease_s: MEMORY_LEASE_S,
        count: locks,
        names: locks,
        clients: 1,
    });
    let mut holder = Child::start(&job, Placement::Split)?;
    let holding: Holding = holder.expect("holding")?;
    holder.expect::<()>("ready")?;
    let held = server.memory();
    let connections = server.connections();
    holder.go(Span { start: 0, until: 0 })?;
    holder.dismiss();
    holder.expect::<u64>("done")?;
    holder.wait()?;
    // Until then, it keeps the memory of the connections.
    server.until_alone();
    let per_lock = |bytes: f64| bytes.max(0.0) / locks as f64;
    let values = [
        ("server_bytes_held", per_lock(held - empty)),
        ("server_bytes_idle", per_lock(server.memory() - empty)),
        ("client_bytes_held", per_lock(holding.bytes as f64)),
        ("connections", connections as f64),
    ];
    Ok(values.map(|(name, value)| (name.to_owned(), value)).into())
}

/// Measures for this time what it costs that a process holds locks.
pub(super) fn hold(
    server: &mut Server,
    contender: Contender,
    locks: usize,
    seconds: f64,
    bursts: bool,
) -> Result<Values, Failure> {
    server.clear();
    let job = Job::Hold(Names {
        contender,
        url: server.url(),
        lease_s: LEASE.as_secs(),
        count: locks,
        names: locks,
        clients: 1,
    });
    let mut holder = Child::start(&job, Placement::Split)?;
    holder.expect::<Holding>("holding")?;
    holder.expect::<()>("ready")?;
    holder.go(Span { start: 0, until: 0 })?;
    let values = window(
        server,
        &Window {
            contender,
            pid: holder.pid(),
            other: None,
            seconds,
            bursts,
        },
    );
    holder.dismiss();
    holder.expect::<u64>("done")?;
    holder.wait()?;
    Ok(values)
}

fn run(bench: &mut Bench) -> Result<(), Failure> {
    let options = bench.options().clone();
    let (rounds, beats) = if options.quick {
        (1, 2.0)
    } else {
        (options.few_repetitions(), 3.0)
    };
    let seconds = beats * LEASE.as_secs_f64() / BEATS_PER_LEASE;
    let placement = Placement::Split;
    bench.rounds(
        NAME,
        placement,
        // Of the others, only distkit renews.
        &[Contender::AutoMutex, Contender::Distkit],
        rounds,
        |server, contender| {
            let mut values = hold(server, contender, LOCKS, seconds, true)?;
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
            Ok(values)
        },
    )?;
    if options.counts_only() {
        return Ok(());
    }
    let all = [
        Contender::AutoMutex,
        Contender::Rslock,
        Contender::Distkit,
        Contender::PgAdvisoryLock,
    ];
    bench.rounds(MEMORY, placement, &all, rounds, memory)
}
