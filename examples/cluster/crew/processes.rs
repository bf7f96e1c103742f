//! Workers as processes: this program, started again with a hidden argument.
//!
//! The worker writes its events as lines to its output, and reads its orders as lines from its input. When the input
//! ends, the worker ends too, so no worker outlives the show, even if the show is killed.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::Sender;
use std::thread;
use std::time::{Duration, Instant};

use auto_mutex::Config;

use super::{Crew, Killed};
use crate::Failure;
use crate::clock::Time;
use crate::event::Event;
use crate::ledger::Ledger;
use crate::plan::{EXPIRE_OF_PROCESSES, LEASE, Protection, WORKERS};
use crate::store::Store;
use crate::witness::Witness;
use crate::worker::{Orders, Reporter, live};

const STAY: &str = "stay";
const STOP: &str = "stop";
/// The longest time that the last calls may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// The worker processes.
pub(crate) struct Processes {
    workers: Vec<(Child, Option<ChildStdin>)>,
}

impl Processes {
    pub(crate) fn start(
        store: &Store,
        witness: &Witness,
        protection: Protection,
        events: &Sender<Event>,
    ) -> Result<Self, Failure> {
        let mut processes = Self {
            workers: Vec::new(),
        };
        for number in 0..WORKERS {
            let mut child = Command::new(std::env::current_exe()?)
                .arg("--worker")
                .arg(number.to_string())
                .arg(witness.dir())
                .arg(protection.word())
                .envs(store.environment())
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                // Ctrl-C must reach only the show, which then ends the workers.
                .process_group(0)
                .spawn()?;
            let (input, output) = (child.stdin.take(), child.stdout.take());
            processes.workers.push((child, input));
            let events = events.clone();
            thread::spawn(move || {
                let lines = output
                    .into_iter()
                    .flat_map(|out| BufReader::new(out).lines());
                for event in lines
                    .map_while(Result::ok)
                    .filter_map(|line| Event::parse(number, &line))
                {
                    if events.send(event).is_err() {
                        return;
                    }
                }
            });
        }
        Ok(processes)
    }

    fn order(&mut self, worker: usize, order: &str) -> Result<(), Failure> {
        if let Some(input) = &mut self.workers[worker].1 {
            writeln!(input, "{order}")
                .map_err(|error| format!("worker {}: {error}", worker + 1))?;
        }
        Ok(())
    }
}

impl Crew for Processes {
    fn order_stay(&mut self, worker: usize) -> Result<(), Failure> {
        self.order(worker, STAY)
    }

    fn kill(&mut self, worker: usize) -> Result<Killed, Failure> {
        let (child, input) = &mut self.workers[worker];
        let at = Time::now();
        // SIGKILL: no code of the worker runs after this, neither destructors nor handlers.
        child.kill()?;
        child.wait()?;
        let dead = Time::now();
        input.take();
        Ok(Killed { at, dead })
    }

    fn stop(&mut self) -> Result<(), Failure> {
        for worker in 0..self.workers.len() {
            // A worker that has ended cannot receive the order.
            let _ = self.order(worker, STOP);
        }
        let started = Instant::now();
        for (number, (child, input)) in self.workers.iter_mut().enumerate() {
            while input.is_some() {
                match child.try_wait()? {
                    Some(status) if status.success() => break,
                    Some(status) => return Err(format!("worker {}: {status}", number + 1).into()),
                    None if started.elapsed() > PATIENCE => {
                        return Err(format!("worker {} does not end", number + 1).into());
                    }
                    None => thread::sleep(Duration::from_millis(10)),
                }
            }
        }
        Ok(())
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        for (child, _) in &mut self.workers {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The main function of a worker process.
pub(crate) fn be_worker(
    number: usize,
    witness: PathBuf,
    protection: Protection,
) -> Result<(), Failure> {
    let orders = Orders::default();
    thread::spawn({
        let orders = orders.clone();
        move || obey(&orders)
    });
    auto_mutex::setup(Config::from_env()?.lease(LEASE))?;
    let ledger = Ledger {
        worker: number,
        witness: Witness::at(witness),
        reporter: Reporter::new(number, |event| {
            let mut out = std::io::stdout().lock();
            if writeln!(out, "{event}").and_then(|()| out.flush()).is_err() {
                // The show has closed the pipe: it has ended.
                std::process::exit(1);
            }
        }),
        orders,
        expire: EXPIRE_OF_PROCESSES,
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()?;
    runtime.block_on(live(&ledger, protection));
    Ok(())
}

fn obey(orders: &Orders) {
    for line in std::io::stdin().lines().map_while(Result::ok) {
        match line.as_str() {
            STAY => orders.order_stay(),
            STOP => orders.order_stop(),
            _ => {}
        }
    }
    std::process::exit(1);
}
