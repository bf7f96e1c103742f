//! One repetition: the tasks of several processes repeatedly acquire and release locks of a server.

use std::path::Path;
use std::thread;
use std::time::Duration;

use super::{Child, Placement};
use crate::Failure;
use crate::clock::{self, MILLISECOND, SECOND};
use crate::job::{Job, Turns};
use crate::measure::cpu::Usage;
use crate::measure::record;
use crate::measure::{self, Values};
use crate::peer::Contender;
use crate::server::Server;
use crate::worker::talk::Span;

/// A tenth of each repetition is the warm-up.
const WARM: u64 = 10;
/// How far in the future the start is set, so that all workers know it before.
const LEAD: u64 = 50 * MILLISECOND;

/// The parameters of a repetition.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Contest {
    pub(crate) contender: Contender,
    pub(crate) placement: Placement,
    pub(crate) processes: usize,
    /// Number of tasks in each process.
    pub(crate) tasks: usize,
    pub(crate) one_key: bool,
    pub(crate) body_us: u64,
    pub(crate) seconds: f64,
}

/// Runs the contest and returns its figures; with `handoffs`, also the times of handoffs between processes.
pub(crate) fn contest(
    server: &mut Server,
    contest: &Contest,
    dir: &Path,
    handoffs: bool,
) -> Result<Values, Failure> {
    server.clear();
    let outs: Vec<_> = (0..contest.processes)
        .map(|process| dir.join(format!("turns-{process}")))
        .collect();
    let mut children = Vec::new();
    for out in &outs {
        let job = Job::Turns(Turns {
            contender: contest.contender,
            url: server.url(),
            tasks: contest.tasks,
            one_key: contest.one_key,
            body_us: contest.body_us,
            out: out.clone(),
        });
        children.push(Child::start(&job, contest.placement)?);
    }
    for child in &children {
        child.expect::<()>("ready")?;
    }
    let pids: Vec<_> = children.iter().map(Child::pid).collect();
    let live = || pids.iter().copied().chain([server.pid()]);
    let (usage, began) = (Usage::now(live()), clock::now());
    let server_cpu = server.cpu();
    let stats = server.stats();
    let length = (contest.seconds * SECOND as f64) as u64;
    let start = clock::now() + LEAD;
    let span = Span {
        start,
        until: start + length,
    };
    for child in &mut children {
        child.go(span)?;
    }
    thread::sleep(Duration::from_nanos(LEAD + length / 2));
    let connections = server.connections();
    for child in &children {
        child.expect::<()>("done")?;
    }
    let server_cpu = server.cpu() - server_cpu;
    let after = server.stats();
    let requests = after.requests_since(&stats, contest.contender);
    let bytes = after.bytes_since(&stats);
    for child in children {
        child.wait()?;
    }
    let elapsed = (clock::now() - began) as f64 / SECOND as f64;
    let foreign = Usage::now([server.pid()]).foreign_since(usage) / elapsed;

    let mut processes = Vec::new();
    for out in &outs {
        processes.push(record::read(out)?);
        std::fs::remove_file(out)?;
    }
    let warm = Span {
        start: start + length / WARM,
        ..span
    };
    let mut values = measure::turns(&processes, warm, contest.contender.capacity());
    if handoffs {
        values.append(&mut measure::handoffs(&processes, warm));
    }
    let turns = processes
        .iter()
        .flatten()
        .map(Vec::len)
        .sum::<usize>()
        .max(1) as f64;
    let mut note = |name: &str, value: f64| values.insert(name.to_owned(), value);
    note("requests", requests as f64 / turns);
    if let Some(bytes) = bytes {
        note("bytes", bytes as f64 / turns);
    }
    note("connections", connections as f64);
    note("server_us", server_cpu * 1e6 / turns);
    note("foreign_cpu", foreign);
    Ok(values)
}
