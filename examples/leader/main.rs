//! Leader election: three processes stand for the lead, and one of them leads at a time.
//!
//! This program starts itself three times. The method `Node::schedule` (`node.rs`) has the attribute `#[auto_leader]`,
//! so its body runs in one of the processes. The leader is killed with `kill -9`: another process takes over within one
//! lease. Then the new leader gets SIGTERM: the third process takes over at once. This process watches, and tells each
//! change.
//!
//! `cargo run --example leader`
//!
//! The program uses the Redis of `AUTO_MUTEX_URL`, or starts a private one. It takes some ten seconds.

mod node;
#[path = "../cluster/server.rs"]
mod server;

use std::error::Error;
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use auto_mutex::{Client, Config, LockError};
use auto_mutex_examples::is_set;
use node::{JOB, LEADS, LEASE, SEAT};
use rustix::process::{Pid, Signal, kill_process};
use server::Server;

type Failure = Box<dyn Error + Send + Sync>;

/// The longest time without a line from the processes.
const PATIENCE: Duration = Duration::from_secs(60);
/// The leader does this many jobs before it is stopped.
const JOBS: usize = 5;

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args().skip(1).collect();
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        [] => show(),
        ["--node", name] => node::run(name),
        _ => Err("usage: leader".into()),
    };
    result.unwrap_or_else(|error| {
        eprintln!("leader: {error}");
        ExitCode::FAILURE
    })
}

/// The main function of the process that the user started.
fn show() -> Result<ExitCode, Failure> {
    let memory = std::env::var("AUTO_MUTEX_URL").is_ok_and(|url| url.starts_with("memory:"));
    if memory {
        return Err(
            "three processes need a Redis: unset AUTO_MUTEX_URL, or set another one".into(),
        );
    }
    let server = match is_set("AUTO_MUTEX_URL") {
        true => None,
        false => {
            let none = "no redis-server on the PATH: install it, or set AUTO_MUTEX_URL";
            Some(Server::start()?.ok_or(none)?)
        }
    };
    println!("plan     three processes stand for the lead");
    println!("         the leader is killed, and the next one gets SIGTERM");
    let lease = LEASE.as_secs();
    println!("lease    {lease} s (10 s unless said otherwise)\n");
    let namespace = format!("leader-{}", std::process::id());
    let config = match &server {
        Some(server) => Config::new(server.url())?,
        None => Config::from_env()?,
    };
    let client = Client::connect(config.namespace(&*namespace))?;
    let mut stage = Stage::new(server.as_ref().map(Server::url), namespace);
    let sender = stage.sender.clone();
    thread::spawn(move || watch(&client, &sender));

    stage.start("a")?;
    stage.wait_for_term()?;
    stage.start("b")?;
    stage.start("c")?;
    stage.wait_for_jobs()?;
    let after_kill = stage.stop(Signal::KILL)?;
    stage.wait_for_jobs()?;
    let after_term = stage.stop(Signal::TERM)?;
    stage.wait_for_jobs()?;
    stage.tell("sends SIGTERM to the last process");
    stage.signal(Signal::TERM)?;
    // In whatever order they are heard.
    stage.wait_for(&[(stage.leader, "stops working"), ("watcher", "nobody leads")])?;

    let (killed, told) = (after_kill.as_secs_f64(), after_term.as_secs_f64());
    println!("\ntake-over after kill -9    {killed:.3} s (at most one lease)");
    println!("take-over after SIGTERM    {told:.3} s");
    println!("result: three terms, each with a greater number than the one before");
    Ok(ExitCode::SUCCESS)
}

/// Tells each change of the leader. A watcher needs no place in the queue.
fn watch(client: &Client, lines: &Sender<Line>) -> Result<(), LockError> {
    let mut watch = client.leader(SEAT).watch();
    loop {
        let line = match watch.blocking_changed()? {
            Some(leader) => format!(
                "{} leads (process {}), term {}",
                leader.value, leader.holder.pid, leader.term
            ),
            None => "nobody leads".to_owned(),
        };
        if lines.send(("watcher", line)).is_err() {
            return Ok(());
        }
    }
}

/// Who said it, and what.
type Line = (&'static str, String);

/// The processes, which end with this program, and what they say.
struct Stage {
    url: Option<String>,
    namespace: String,
    started: Instant,
    processes: Vec<(&'static str, Child)>,
    sender: Sender<Line>,
    lines: Receiver<Line>,
    leader: &'static str,
    term: u64,
}

impl Stage {
    fn new(url: Option<String>, namespace: String) -> Self {
        let (sender, lines) = channel();
        Self {
            url,
            namespace,
            started: Instant::now(),
            processes: Vec::new(),
            sender,
            lines,
            leader: "",
            term: 0,
        }
    }

    /// Starts a process, and waits until it stands for the lead.
    fn start(&mut self, name: &'static str) -> Result<(), Failure> {
        let url = self.url.as_ref().map(|url| ("AUTO_MUTEX_URL", url));
        let mut process = Command::new(std::env::current_exe()?)
            .args(["--node", name])
            .envs(url)
            .env("AUTO_MUTEX_NAMESPACE", &self.namespace)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Ctrl-C must reach only the show, which then ends the others.
            .process_group(0)
            .spawn()?;
        let output = process.stdout.take();
        self.processes.push((name, process));
        let lines = self.sender.clone();
        thread::spawn(move || {
            let output = output.into_iter().map(BufReader::new);
            for line in output.flat_map(BufReader::lines).map_while(Result::ok) {
                if lines.send((name, line)).is_err() {
                    return;
                }
            }
        });
        self.wait_for(&[(name, "stands")])
    }

    fn tell(&self, line: &str) {
        self.print("show", line);
    }

    fn print(&self, by: &str, line: &str) {
        println!(
            "{:5.1} s  {by:7}  {line}",
            self.started.elapsed().as_secs_f64()
        );
    }

    /// Prints and returns the next line.
    fn next(&mut self) -> Result<Line, Failure> {
        let line = self.lines.recv_timeout(PATIENCE);
        let (by, line) = line.map_err(|_| "it took too long")?;
        self.print(by, &line);
        if let Some(term) = line.strip_prefix(LEADS) {
            let before = std::mem::replace(&mut self.term, term.parse()?);
            if self.term <= before {
                return Err(format!("term {} after term {before}", self.term).into());
            }
            self.leader = by;
        }
        Ok((by, line))
    }

    /// Waits until each has said a line that begins so.
    fn wait_for(&mut self, lines: &[(&str, &str)]) -> Result<(), Failure> {
        let mut missing = lines.to_vec();
        while !missing.is_empty() {
            let (who, line) = self.next()?;
            missing.retain(|(by, start)| who != *by || !line.starts_with(start));
        }
        Ok(())
    }

    /// Waits until another process leads.
    fn wait_for_term(&mut self) -> Result<(), Failure> {
        let before = self.term;
        while self.term == before {
            self.next()?;
        }
        Ok(())
    }

    /// Waits until the leader has done some jobs.
    fn wait_for_jobs(&mut self) -> Result<(), Failure> {
        for _ in 0..JOBS {
            self.wait_for(&[(self.leader, JOB)])?;
        }
        Ok(())
    }

    /// Sends `signal` to the leader. Returns the time until another process leads.
    fn stop(&mut self, signal: Signal) -> Result<Duration, Failure> {
        self.tell(match signal {
            Signal::KILL => "kills the leader (kill -9)",
            _ => "sends SIGTERM to the leader",
        });
        let sent = Instant::now();
        self.signal(signal)?;
        self.wait_for_term()?;
        Ok(sent.elapsed())
    }

    fn signal(&mut self, signal: Signal) -> Result<(), Failure> {
        let mut processes = self.processes.iter();
        let leader = processes.find(|(name, _)| *name == self.leader);
        let (_, process) = leader.ok_or("nobody leads")?;
        kill_process(Pid::from_child(process), signal)?;
        Ok(())
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        for (_, process) in &mut self.processes {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}
