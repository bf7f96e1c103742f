//! Two processes take two locks in opposite order: a deadlock across processes, and its report on the terminal.
//!
//! This program starts itself twice. One process pays for an order: it takes the order, then its stock. The other
//! process counts the stock: it takes the stock, then the order. Each waits for the other (`jobs.rs`).
//!
//! - With `Deadlock::Report`, the default, a warning names both processes and the source lines of their calls. Both
//!   calls still wait, until the `block` of one is over.
//! - With `Deadlock::Fail`, one call fails. Its locks are released, so the other process continues; then the process of
//!   the failed call tries again.
//!
//! `cargo run --example deadlock`
//!
//! The program uses the Redis of `AUTO_MUTEX_URL`, or starts a private one.

mod jobs;
#[path = "../cluster/server.rs"]
mod server;

use std::error::Error;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use auto_mutex::{Config, Deadlock};
use auto_mutex_examples::is_set;
use jobs::HOLDS;
use server::Server;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

type Failure = Box<dyn Error + Send + Sync>;

const REPORT: &str = "report";
const FAIL: &str = "fail";
/// The longest time without a line from the processes.
const PATIENCE: Duration = Duration::from_secs(60);

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args().skip(1).collect();
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        [] => show(),
        ["--process", job, deadlock] => be_process(job, deadlock),
        _ => Err("usage: deadlock".into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("deadlock: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The main function of the two processes.
fn be_process(job: &str, deadlock: &str) -> Result<(), Failure> {
    let deadlock = match deadlock {
        FAIL => Deadlock::Fail,
        _ => Deadlock::Report,
    };
    // Logs only the warnings about waiting calls.
    let calls = Targets::new().with_target("auto_mutex::acquire", LevelFilter::WARN);
    let layer = tracing_subscriber::fmt::layer().without_time();
    tracing_subscriber::registry()
        .with(layer.with_filter(calls))
        .init();
    auto_mutex::setup(Config::from_env()?.deadlock(deadlock))?;
    jobs::run(job)
}

/// The main function of the process that the user started.
fn show() -> Result<(), Failure> {
    let memory = std::env::var("AUTO_MUTEX_URL").is_ok_and(|url| url.starts_with("memory:"));
    if memory {
        return Err("two processes need a Redis: unset AUTO_MUTEX_URL, or set another one".into());
    }
    let server = match is_set("AUTO_MUTEX_URL") {
        true => None,
        false => {
            let none = "no redis-server on the PATH: install it, or set AUTO_MUTEX_URL";
            Some(Server::start()?.ok_or(none)?)
        }
    };
    let url = server.as_ref().map(Server::url);
    println!("Deadlock::Report, the default: a warning after a second, and both still wait");
    act(url.as_deref(), REPORT)?;
    println!("\nDeadlock::Fail: the same warning, one call fails, and the other continues");
    act(url.as_deref(), FAIL)
}

/// Starts both processes, lets them run into the deadlock, and prints their output.
fn act(url: Option<&str>, deadlock: &str) -> Result<(), Failure> {
    let start = Instant::now();
    let (sender, lines) = channel();
    let mut processes = Processes(Vec::new());
    let mut inputs = Vec::new();
    for (job, _) in jobs::JOBS {
        inputs.push(processes.start(job, deadlock, url, &sender)?);
        // The processes start one after the other: so the second one has the younger hold, and its call is the one that
        // fails.
        while !print_next(&lines, start)?.is_some_and(|line| line.starts_with(HOLDS)) {}
    }
    drop(sender);
    // At the end of its input, each process continues, to its second lock.
    drop(inputs);
    while print_next(&lines, start)?.is_some() {}
    for (job, process) in &mut processes.0 {
        let status = process.wait()?;
        if !status.success() {
            return Err(format!("{job}: {status}").into());
        }
    }
    Ok(())
}

/// Prints and returns the next line of a process; `None` if both processes have ended.
fn print_next(lines: &Receiver<(&str, String)>, start: Instant) -> Result<Option<String>, Failure> {
    use std::sync::mpsc::RecvTimeoutError::{Disconnected, Timeout};
    match lines.recv_timeout(PATIENCE) {
        Ok((job, line)) => {
            let line = line.trim();
            println!("{:5.1} s  {job:5}  {line}", start.elapsed().as_secs_f64());
            Ok(Some(line.to_owned()))
        }
        Err(Disconnected) => Ok(None),
        Err(Timeout) => Err("it took too long".into()),
    }
}

/// The two processes, which end with this program.
struct Processes(Vec<(&'static str, Child)>);

impl Processes {
    fn start(
        &mut self,
        job: &'static str,
        deadlock: &str,
        url: Option<&str>,
        lines: &Sender<(&'static str, String)>,
    ) -> Result<Option<ChildStdin>, Failure> {
        let mut process = Command::new(std::env::current_exe()?)
            .args(["--process", job, deadlock])
            .envs(url.map(|url| ("AUTO_MUTEX_URL", url)))
            .env(
                "AUTO_MUTEX_NAMESPACE",
                format!("deadlock-{}", std::process::id()),
            )
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (input, output) = (process.stdin.take(), process.stdout.take());
        self.0.push((job, process));
        let lines = lines.clone();
        thread::spawn(move || {
            let output = output.into_iter().map(BufReader::new);
            for line in output.flat_map(BufReader::lines).map_while(Result::ok) {
                if lines.send((job, line)).is_err() {
                    return;
                }
            }
        });
        Ok(input)
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        for (_, process) in &mut self.0 {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}
