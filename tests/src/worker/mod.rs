//! Other processes that lock: started by a test, told what to do line by line.
//!
//! The test's side is [`Worker`]; the child's side is [`serve`](mod@serve), run by the program `test-worker`.
//!
//! | line in | lines out, as they happen |
//! |---|---|
//! | `lock NAME [BLOCK_MS]` | `got NAME TOKEN`, or `failed NAME ERROR` |
//! | `acquire NAME PERMITS`, `read NAME`, `write NAME` | as `lock NAME`, for a semaphore or a readers-writer lock |
//! | `wait NAME` | `waits NAME` while it has the mutex NAME and is about to wait for the condition variable NAME; then `woken NAME`, or `failed NAME ERROR` |
//! | `try NAME` | `got NAME TOKEN`, or `busy NAME` |
//! | `nest OUTER INNER` | `inside OUTER`; after `go`, it waits for INNER inside: `got INNER TOKEN`, or `failed INNER ERROR`; then `left OUTER`, or `failed OUTER ERROR` |
//! | `go` | none: see `nest` |
//! | `unlock NAME` | `unlocked NAME true`, or `false` |
//! | `drop NAME` | `dropped NAME` |
//! | `check NAME` | `held NAME`, or `lost NAME` |
//! | (a lock is lost) | `loss NAME` |
//! | `again URL` | `ok`, or `failed again ERROR`: `setup` once more |
//! | `shutdown` | `ok` |
//! | `drain SECONDS` | `left NAME` for each lock that is held after such a time, then `drained true`, or `false` |
//! | `termination [SECONDS]` | `ok`: from now on SIGTERM drains and releases |
//! | `log` | `ok`: from now on `tracing_subscriber::fmt` hears everything |
//! | `brittle` | `ok`: from now on any panic aborts, even one that would be caught |
//! | `contest KIND NAME MILLISECONDS TASKS PORT SEED [PAUSE_US STAY_MS, or FILE]` | see [`contest`]; with a pause of up to so long after each turn, and now and then a stay of up to so long |
//! | `enough` | none: ends the contest, if it has not ended |
//! | `return`, `exit`, `abort` | none: the process ends that way, holding what it holds |
//! | `finish NAME` | `got NAME TOKEN`, then it drops the guard and returns from main at once |

pub mod contest;
mod guards;
pub mod serve;

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::events::{PATIENCE, eventually};
use crate::process;

/// How long a worker may take to start and to connect: many start at once, on machines with much else to do.
const START: Duration = Duration::from_secs(60);

/// How a worker is started.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The program: `env!("CARGO_BIN_EXE_test-worker")`, which only tests know.
    pub program: &'static str,
    /// The store.
    pub url: String,
    /// The lease.
    pub lease: Duration,
    /// What else its configuration says, in the words of [`configure`](serve::configure): `store_timeout=30`.
    pub options: Vec<String>,
}

impl Setup {
    /// With the usual options.
    pub fn new(program: &'static str, url: String, lease: Duration) -> Self {
        Self {
            program,
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

    /// Starts a worker; it is there when it is [`ready`](Worker::ready).
    pub fn launch(&self) -> Worker {
        let mut child = Command::new(self.program)
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

/// Runs the program `test-fork` to its end and returns what parent and child said.
#[track_caller]
pub fn forks(program: &'static str, url: &str) -> Vec<String> {
    let child = Command::new(program)
        .arg(url)
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
    // Whatever hangs, the child of the child too.
    process::kill9_group(group);
    let output = output.join().expect("no panic").expect("its output");
    let lines = String::from_utf8_lossy(&output.stdout);
    assert!(in_time, "test-fork hangs after {lines:?}");
    lines.lines().map(str::to_owned).collect()
}

/// A worker process, killed when dropped.
pub struct Worker {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Worker {
    /// Tells the worker what to do. It is no error if it has ended.
    pub fn say(&mut self, line: &str) {
        if let Some(stdin) = &mut self.stdin {
            let _ = writeln!(stdin, "{line}");
        }
    }

    /// The next line of the worker; `None` when it has ended.
    #[track_caller]
    pub fn hear(&self) -> Option<String> {
        self.hear_within(PATIENCE)
    }

    /// As [`hear`](Self::hear), where that may take so long.
    #[track_caller]
    pub fn hear_within(&self, limit: Duration) -> Option<String> {
        match self.lines.recv_timeout(limit) {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("the worker says nothing for {limit:?}"),
        }
    }

    /// The next line if there is one already.
    pub fn overhear(&self) -> Option<String> {
        self.lines.try_recv().ok()
    }

    /// The words after `start`, with which the next line must begin.
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

    /// Waits for the answer to an earlier `lock` and returns the fencing token.
    #[track_caller]
    pub fn got(&self, name: &str) -> u64 {
        let words = self.expect(&format!("got {name} "));
        words[0].parse().expect("a token")
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends it on the spot.
    pub fn kill9(&mut self) {
        process::kill9(self.pid());
        let _ = self.child.wait();
    }

    /// Suspends it.
    pub fn stop(&self) {
        process::stop_child(self.pid());
    }

    /// Lets it go on.
    pub fn cont(&self) {
        process::cont(self.pid());
    }

    /// Waits until it has ended by itself.
    #[track_caller]
    pub fn ended(&mut self) -> ExitStatus {
        let mut status = None;
        eventually("the worker ends", || {
            status = self.child.try_wait().expect("the state of the worker");
            status.is_some()
        });
        status.expect("checked")
    }

    /// Whether it has ended.
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
