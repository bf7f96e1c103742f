//! Processor time of processes and of the machine, from `/proc`; memory of this process.

use std::fs;

/// `/proc/stat` counts in hundredths of a second.
const TICKS: f64 = 100.0;

/// Returns the processor seconds of a running process.
pub(crate) fn of(pid: u32) -> f64 {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return 0.0;
    };
    let nanos = |entry: std::io::Result<fs::DirEntry>| {
        let text = fs::read_to_string(entry.ok()?.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<f64>().ok()
    };
    threads.filter_map(nanos).sum::<f64>() / 1e9
}

/// Returns the processor seconds of a running process, and of its children: those that run, and those that have ended.
pub(crate) fn of_tree(pid: u32) -> f64 {
    of(pid) + ended_children_of(&pid.to_string()) + children(pid).into_iter().map(of).sum::<f64>()
}

/// Returns the resident memory of a process and its children, in bytes. Memory that processes share counts once.
#[cfg(feature = "peers")]
pub(crate) fn memory_of_tree(pid: u32) -> f64 {
    let proportional = |pid: u32| {
        let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
        line.split_whitespace().next()?.parse::<f64>().ok()
    };
    let pids = children(pid).into_iter().chain([pid]);
    pids.filter_map(proportional).sum::<f64>() * 1024.0
}

fn children(pid: u32) -> Vec<u32> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    text.split_whitespace()
        .filter_map(|pid| pid.parse().ok())
        .collect()
}

/// Processor seconds of the whole machine, and our own: those of this process, of its children that have ended, and of
/// the running processes `pids`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usage {
    all: f64,
    own: f64,
}

impl Usage {
    pub(crate) fn now(pids: impl IntoIterator<Item = u32>) -> Self {
        let live: f64 = pids.into_iter().map(of_tree).sum();
        Self {
            all: machine(),
            own: of(std::process::id()) + ended_children() + live,
        }
    }

    /// Returns the processor seconds that other processes used between `before` and now.
    pub(crate) fn foreign_since(self, before: Self) -> f64 {
        (self.all - before.all - (self.own - before.own)).max(0.0)
    }
}

/// Returns the processor seconds of the machine: user, nice, system, interrupts, and time taken by the host.
fn machine() -> f64 {
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let first = stat.lines().next().unwrap_or_default();
    let fields: Vec<f64> = first
        .split_whitespace()
        .skip(1)
        .filter_map(|field| field.parse().ok())
        .collect();
    let busy = [0, 1, 2, 5, 6, 7].map(|index| fields.get(index).copied().unwrap_or(0.0));
    busy.iter().sum::<f64>() / TICKS
}

/// Returns the processor seconds of this process's children that have ended and were waited for.
pub(crate) fn ended_children() -> f64 {
    ended_children_of("self")
}

fn ended_children_of(pid: &str) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The fields after the last `)` are read: the program name in parentheses may itself contain spaces and
    // parentheses.
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let times = fields.split_whitespace().skip(13).take(2);
    let ticks: f64 = times.filter_map(|field| field.parse::<f64>().ok()).sum();
    ticks / TICKS
}

/// Resident memory of this process, in bytes.
pub(crate) fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}
