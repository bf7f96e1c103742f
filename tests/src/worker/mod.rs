//! Worker processes that use locks: a test starts them, and controls them line by line.
//!
//! The test's side is [`Worker`]; the child's side is [`serve`](mod@serve), run by the program `test-worker`.
//!
//! | input line | output lines, as they happen |
//! |---|---|
//! | `lock NAME [BLOCK_MS]` | `got NAME TOKEN`, or `failed NAME ERROR` |
//! | `acquire NAME PERMITS` | as `lock NAME`, for a semaphore |
//! | `wait NAME` | `waits NAME`, with the mutex held, before it waits for the condition variable; `woken NAME` or `failed …` |
//! | `try NAME` | `got NAME TOKEN`, or `busy NAME` |
//! | `lead NAME [stop_within=SECONDS] [progress=SECONDS]` | `leads NAME NUMBER` when a body begins, which never ends |
//! | `unlock NAME` | `unlocked NAME true`, or `false` |
//! | `drop NAME` | `dropped NAME` |
//! | `check NAME` | `held NAME`, or `lost NAME` |
//! | (a lock is lost) | `loss NAME` |
//! | `again URL` | `ok`, or `failed again ERROR`: calls `setup` once more |
//! | `shutdown` | `ok` |
//! | `drain SECONDS` | `left NAME` for each lock that is still held after this time, then `drained true`, or `false` |
//! | `termination [SECONDS]` | `ok`: from now on SIGTERM drains and releases |
//! | `log` | `ok`: from now on `tracing_subscriber::fmt` formats all events |
//! | `brittle` | `ok`: from now on any panic aborts the process, even a panic that would be caught |
//! | `contest KIND NAME MILLISECONDS TASKS PORT SEED [PAUSE_US STAY_MS, or FILE]` | see [`contest`] and below |
//! | `enough` | none: ends the contest, if it has not ended |
//! | `return`, `exit`, `abort` | none: the process ends in this way, while it holds its locks |
//! | `finish NAME` | `got NAME TOKEN`, then it drops the guard and returns from main at once |
//!
//! In a contest, PAUSE_US is the longest pause after a turn, and STAY_MS the longest of the rare long turns. FILE
//! records the history.

pub mod contest;
mod guards;
mod lead;
pub mod serve;

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::events::{PATIENCE, eventually};
use crate::process;

/// How long a worker may take to start and connect: many workers start together, on busy machines.
const START: Duration = Duration::from_secs(60);

/// The settings for a worker.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The program: `env!("CARGO_BIN_EXE_test-worker")`, a variable that exists only in tests.
    pub program: &'static str,
    /// A program that starts the worker, and the first arguments of that program; may be empty.
    pub launcher: &'static [&'static str],
    /// The URL of the store.
    pub url: String,
    /// The lease of the worker's locks.
    pub lease: Duration,
    /// Further options in the format of [`configure`](serve::configure), such as `store_timeout=30`.
    pub options: Vec<String>,
}

impl Setup {
    /// A setup without further options.
    pub fn new(program: &'static str, url: String, lease: Duration) -> Self {
        Self {
            program,
            launcher: &[],
            url,
            lease,
            options: Vec::new(),
        }
    }

    /// Starts a worker and waits until it is connected.
    pub fn start(&self) -> Worker {
        let worker = self.launch();
        worker.ready();
        worker
    }

    /// Starts a worker, without waiting until it is [`ready`](Worker::ready).
    pub fn launch(&self) -> Worker {
        let mut words = self.launcher.iter().chain([&self.program]);
        let mut child = Command::new(words.next().expect("a program"))
            .args(words)
            .arg(&self.url)
            .arg(self.lease.as_millis().to_string())
            .args(&self.options)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the worker starts");
        let stdout = BufReader::new(child.stdout.take().expect("a piped stdout"));
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Worker {
            stdin: child.stdin.take(),
            child,
            lines,
        }
    }
}

/// Runs the program `test-fork` to its end, and returns the output lines of parent and child.
#[track_caller]
pub fn forks(program: &'static str, url: &str, what: &str) -> Vec<String> {
    let child = Command::new(program)
        .args([url, what])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .process_group(0)
        .spawn()
        .expect("test-fork starts");
    let group = child.id();
    let output = thread::spawn(move || child.wait_with_output());
    let started = Instant::now();
    while !output.is_finished() && started.elapsed() < PATIENCE {
        thread::sleep(Duration::from_millis(5));
    }
    let in_time = output.is_finished();
    // Kills all processes that still run, including the forked child.
    process::kill9_group(group);
    let output = output.join().expect("no panic").expect("its output");
    let lines = String::from_utf8_lossy(&output.stdout);
    assert!(in_time, "test-fork hangs after {lines:?}");
    lines.lines().map(str::to_owned).collect()
}

/// Waits until one of these workers has taken `name`, for which all of them wait. Takes it out of them, and returns it
/// with its token.
#[track_caller]
pub fn next(waiting: &mut Vec<Worker>, name: &str) -> (Worker, u64) {
    let mut found = None;
    eventually("one of them gets the lock", || {
        let said = waiting.iter().map(Worker::overhear).enumerate();
        found = said
            .into_iter()
            .find_map(|(index, line)| Some((index, line?)));
        found.is_some()
    });
    let (index, line) = found.expect("checked");
    let token = line.strip_prefix(&format!("got {name} "));
    let token = token.and_then(|token| token.parse().ok());
    (
        waiting.remove(index),
        token.unwrap_or_else(|| panic!("heard {line:?}")),
    )
}

/// A worker process, killed when dropped.
pub struct Worker {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Worker {
    /// Sends a line to the worker. It is no error if the worker has ended.
    pub fn say(&mut self, line: &str) {
        if let Some(stdin) = &mut self.stdin {
            let _ = writeln!(stdin, "{line}");
        }
    }

    /// Waits for the next line of the worker; `None` if the worker has ended.
    #[track_caller]
    pub fn hear(&self) -> Option<String> {
        self.hear_within(PATIENCE)
    }

    /// As [`hear`](Self::hear), with `limit` as the time limit.
    #[track_caller]
    pub fn hear_within(&self, limit: Duration) -> Option<String> {
        match self.lines.recv_timeout(limit) {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("the worker says nothing for {limit:?}"),
        }
    }

    /// The next line, if one has already arrived.
    pub fn overhear(&self) -> Option<String> {
        self.lines.try_recv().ok()
    }

    /// Waits for the next line, which must begin with `start`, and returns the words after `start`.
    #[track_caller]
    pub fn expect(&self, start: &str) -> Vec<String> {
        let line = self.hear().unwrap_or_else(|| "(ended)".to_owned());
        match line.strip_prefix(start) {
            Some(rest) => rest.split_whitespace().map(str::to_owned).collect(),
            None => panic!("expected {start:?} of the worker, heard {line:?}"),
        }
    }

    /// Waits until the worker is connected.
    #[track_caller]
    pub fn ready(&self) {
        assert_eq!(self.hear_within(START).as_deref(), Some("ready"));
    }

    /// Makes the worker take `name` and returns the fencing token.
    #[track_caller]
    pub fn lock(&mut self, name: &str) -> u64 {
        self.say(&format!("lock {name}"));
        self.got(name)
    }

    /// Waits for the answer to an earlier `lock`, and returns the fencing token.
    #[track_caller]
    pub fn got(&self, name: &str) -> u64 {
        let words = self.expect(&format!("got {name} "));
        words[0].parse().expect("a token")
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Kills the worker at once.
    pub fn kill9(&mut self) {
        process::kill9(self.pid());
        let _ = self.child.wait();
    }

    /// Suspends the worker.
    pub fn stop(&self) {
        process::stop_child(self.pid());
    }

    /// Resumes the worker.
    pub fn cont(&self) {
        process::cont(self.pid());
    }

    /// Waits until the worker has ended by itself.
    #[track_caller]
    pub fn ended(&mut self) -> ExitStatus {
        let mut status = None;
        eventually("the worker ends", || {
            status = self.child.try_wait().expect("the state of the worker");
            status.is_some()
        });
        status.expect("checked")
    }

    /// Whether the worker has ended.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().is_ok_and(|status| status.is_some())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        process::kill9(self.pid());
        let _ = self.child.wait();
    }
}
