//! Measures what processes and their server do while no lock is granted or released.

use std::thread;
use std::time::{Duration, Instant};

use crate::measure::Values;
use crate::measure::cpu::{self, Usage};
use crate::peer::Contender;
use crate::server::Server;

/// How often the server's statistics are read to find bursts.
const LOOK: Duration = Duration::from_millis(50);
/// Requests that are further apart than this belong to different bursts.
const BURST: Duration = Duration::from_millis(500);

#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub(crate) contender: Contender,
    /// The process whose processor time is reported.
    pub(crate) pid: u32,
    /// Another process of the benchmark. Its processor time does not count as that of foreign processes.
    pub(crate) other: Option<u32>,
    pub(crate) seconds: f64,
    /// Whether to count bursts of renewals; this costs the server a little time.
    pub(crate) bursts: bool,
}

/// Measures for the length of the window.
pub(crate) fn window(server: &mut Server, window: &Window) -> Values {
    let pids = [Some(window.pid), window.other, Some(server.pid())];
    let live = || pids.iter().flatten().copied();
    let usage = Usage::now(live());
    let client = cpu::of(window.pid);
    let server_cpu = server.cpu();
    let stats = server.stats();
    let started = Instant::now();
    let length = Duration::from_secs_f64(window.seconds);
    let bursts = if window.bursts {
        count_bursts(server, started + length)
    } else {
        thread::sleep(length);
        0
    };
    let seconds = started.elapsed().as_secs_f64();
    let requests = server.stats().requests_since(&stats, window.contender);
    let client = cpu::of(window.pid) - client;
    let values = [
        ("requests_per_second", requests as f64 / seconds),
        ("connections", server.connections() as f64),
        ("client_cpu", client / seconds),
        ("client_cpu_ms_per_10_s", client * 10_000.0 / seconds),
        ("server_cpu", (server.cpu() - server_cpu) / seconds),
        ("bursts", f64::from(bursts)),
        (
            "foreign_cpu",
            Usage::now(live()).foreign_since(usage) / seconds,
        ),
    ];
    values.map(|(name, value)| (name.to_owned(), value)).into()
}

fn count_bursts(server: &mut Server, until: Instant) -> u32 {
    let mut bursts = 0;
    let mut last = None::<Instant>;
    let mut before = server.stats();
    while Instant::now() < until {
        thread::sleep(LOOK);
        let now = server.stats();
        if now.has_run_since(&before) {
            if last.is_none_or(|last| last.elapsed() > BURST) {
                bursts += 1;
            }
            last = Some(Instant::now());
        }
        before = now;
    }
    bursts
}
