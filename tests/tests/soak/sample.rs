//! [`Sample`]: one look at clients and server.

use std::time::Duration;

use auto_mutex_tests::redis::Redis;

use super::LEASE;
use super::crew::Crew;

/// What there was at one time.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) at: Duration,
    /// Resident memory of the processes that stay: the sum (KiB).
    pub(crate) clients: f64,
    /// What the server says that it uses (KiB).
    pub(crate) used: f64,
    /// Its resident memory (KiB).
    pub(crate) server: f64,
    pub(crate) keys: f64,
    pub(crate) lasting_keys: f64,
    pub(crate) connections: f64,
    /// Open files of the processes that stay.
    pub(crate) files: f64,
    /// How much later than planned a renewal was seen to be, the latest (ms).
    pub(crate) late: f64,
    /// For how long the machine stood still (ms).
    pub(crate) stall: f64,
    /// How often somebody was inside since the last look.
    pub(crate) sections: f64,
}

impl Sample {
    pub(crate) fn take(
        at: Duration,
        redis: &Redis,
        crew: &Crew,
        shortest: Duration,
        stall: Duration,
        sections: usize,
    ) -> Self {
        let info = |field: &str| redis.info(field).parse::<f64>().expect("a number");
        let late = (LEASE * 2 / 3).saturating_sub(shortest);
        Self {
            at,
            clients: crew.steady().map(resident).sum(),
            used: info("used_memory") / 1024.0,
            server: info("used_memory_rss") / 1024.0,
            keys: redis.command(&["DBSIZE"]).int() as f64,
            lasting_keys: redis.keys_without_ttl().len() as f64,
            connections: redis.clients() as f64,
            files: crew.steady().map(files).sum(),
            late: late.as_secs_f64() * 1000.0,
            stall: stall.as_secs_f64() * 1000.0,
            sections: sections as f64,
        }
    }
}

/// KiB.
fn resident(pid: u32) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let figure = line.and_then(|line| line.split_whitespace().next());
    figure.and_then(|figure| figure.parse().ok()).unwrap_or(0.0)
}

fn files(pid: u32) -> f64 {
    let open = std::fs::read_dir(format!("/proc/{pid}/fd")).expect("Linux");
    open.count() as f64
}
