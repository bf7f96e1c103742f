//! [`Sample`]: the figures of clients and server at one time.

use std::time::Duration;

use auto_mutex_tests::redis::Redis;

use super::LEASE;
use super::crew::Crew;

/// The figures at one time.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) at: Duration,
    /// The resident memory of all steady processes together (KiB).
    pub(crate) clients: f64,
    /// The memory that the server reports as used (KiB).
    pub(crate) used: f64,
    /// The server's resident memory (KiB).
    pub(crate) server: f64,
    pub(crate) keys: f64,
    pub(crate) lasting_keys: f64,
    pub(crate) connections: f64,
    /// The open files of all steady processes together.
    pub(crate) files: f64,
    /// By how much the latest renewal missed its plan (ms).
    pub(crate) late: f64,
    /// The longest stall of the machine (ms).
    pub(crate) stall: f64,
    /// The number of sections since the last sample.
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

/// The resident memory of a process, in KiB.
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
