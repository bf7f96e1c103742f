//! S6: the cost of waiting: many tasks of one process wait for locks that another process holds.

use std::thread;
use std::time::Duration;

use super::{Bench, Column, FOREIGN, Plot, Scenario, Table};
use crate::Failure;
use crate::clock;
use crate::job::{Job, Names};
use crate::measure::Values;
use crate::peer::Contender;
use crate::run::{Child, Placement, Window, window};
use crate::server::Server;
use crate::worker::talk::Span;
use crate::worker::{Drained, Holding, Waiting};

pub(super) const NAME: &str = "S6";
pub(super) const MANY: &str = "S6 100k";
/// The length of the window. A request is sent for each name every 1.1 s, for all names at the same moments. A window
/// of up to 11 s may contain as many of these moments as seconds: the figure would then be 1 request per second, not
/// 0.9.
pub(super) const WINDOW_S: f64 = 12.0;

/// The holder's lease: long enough to last while the holder is stopped.
const LEASE_S: u64 = 30;
/// The time until the first requests are answered.
const SETTLE: Duration = Duration::from_secs(2);

pub(super) const COLUMNS: &[Column] = &[
    Column::new("requests_per_second", "requests/s"),
    Column::new("requests_per_name", "per name").hidden(),
    Column::new("connections", "connections"),
    Column::new("client_cpu_ms_per_10_s", "CPU ms in 10 s"),
    Column::new("server_cpu", "server CPUs").hidden(),
    Column::new("bytes_per_waiter", "RSS B/waiter"),
    Column::new("server_bytes_per_waiter", "server B/waiter"),
    Column::new("begun_ms", "begun in ms").hidden(),
    Column::new("drained_ms", "drained in ms"),
    Column::new("overtaken", "overtaken").hidden(),
    FOREIGN,
];

pub(super) const SCENARIO: Scenario = Scenario {
    id: NAME,
    tables: &[
        Table {
            name: NAME,
            title: "S6: 1,000 waiters of one process, 100 for PgAdvisoryLock, on a key that another process holds (its connection counts too)",
            columns: COLUMNS,
            plot: Plot::Figure("requests_per_second"),
        },
        Table {
            name: MANY,
            title: "S6: 100,000 waiters of one process on 1,000 names that another process holds",
            columns: COLUMNS,
            plot: Plot::None,
        },
    ],
    counts: true,
    run,
};

pub(super) struct Crowd {
    pub(super) waiters: usize,
    pub(super) names: usize,
    pub(super) seconds: f64,
}

fn run(bench: &mut Bench) -> Result<(), Failure> {
    let options = bench.options().clone();
    let (rounds, seconds) = match (options.counts_only(), options.quick) {
        (true, _) => (1, WINDOW_S),
        (_, true) => (1, 3.0),
        _ => (options.few_repetitions(), WINDOW_S),
    };
    let all = [
        Contender::AutoMutex,
        Contender::Rslock,
        Contender::Distkit,
        Contender::PgAdvisoryLock,
    ];
    bench.rounds(NAME, Placement::Split, &all, rounds, |server, who| {
        let crowd = Crowd {
            // Each of its waiters needs a connection.
            waiters: if who.connects_each() { 100 } else { 1_000 },
            names: 1,
            seconds,
        };
        measure(server, who, &crowd)
    })?;
    let crowd = Crowd {
        waiters: 100_000,
        names: 1_000,
        seconds,
    };
    // Without handoffs inside the process, only the time until all waiters have had the lock differs.
    let ours = [Contender::AutoMutexLocal];
    bench.rounds(MANY, Placement::Split, &ours, rounds, |server, who| {
        measure(server, who, &crowd)
    })
}

pub(super) fn measure(
    server: &mut Server,
    contender: Contender,
    crowd: &Crowd,
) -> Result<Values, Failure> {
    let now = Span { start: 0, until: 0 };
    let names = |count| Names {
        contender,
        url: server.url(),
        lease_s: LEASE_S,
        count,
        names: crowd.names,
        clients: 1,
    };
    let (held, waited) = (names(crowd.names), names(crowd.waiters));
    server.clear();
    let mut holder = Child::start(&Job::Hold(held), Placement::Same)?;
    holder.expect::<Holding>("holding")?;
    holder.expect::<()>("ready")?;
    holder.go(now)?;
    let memory = server.memory();
    let mut waiters = Child::start(&Job::Wait(waited), Placement::Split)?;
    waiters.expect::<()>("ready")?;
    waiters.go(now)?;
    let waiting: Waiting = waiters.expect("waiting")?;
    thread::sleep(SETTLE);
    let memory = (server.memory() - memory).max(0.0);
    // The holder is stopped, because its own requests are not part of the cost of waiting.
    let asleep = holder.asleep()?;
    let mut values = window(
        server,
        &Window {
            contender,
            pid: waiters.pid(),
            other: Some(holder.pid()),
            seconds: crowd.seconds,
            bursts: false,
        },
    );
    drop(asleep);
    let per_name = values["requests_per_second"] / crowd.names as f64;
    let mut note = |name: &str, value: f64| values.insert(name.to_owned(), value);
    let milliseconds = |nanos: u64| nanos as f64 / clock::MILLISECOND as f64;
    note("requests_per_name", per_name);
    // `bytes` includes only the memory of the waiters' process.
    note(
        "bytes_per_waiter",
        waiting.bytes as f64 / crowd.waiters as f64,
    );
    note("server_bytes_per_waiter", memory / crowd.waiters as f64);
    note("begun_ms", milliseconds(waiting.begun_ns));
    if contender.queues() {
        let released = clock::now();
        holder.dismiss();
        let drained: Drained = waiters.expect("done")?;
        note("drained_ms", milliseconds(drained.at - released));
        // Waiters with connections of their own reach the server in any order.
        if contender.is_ours() {
            note("overtaken", drained.overtaken as f64);
        }
        waiters.wait()?;
        holder.wait()?;
    }
    Ok(values)
}
