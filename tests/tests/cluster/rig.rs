//! Clients of a cluster, and contests between processes on it.

use std::thread;
use std::time::{Duration, Instant};

use auto_mutex::{Client, Config};
use auto_mutex_tests::cluster::Cluster;
pub(crate) use auto_mutex_tests::events::waiters;
use auto_mutex_tests::events::{LONG, PATIENCE};
use auto_mutex_tests::seed::Seed;
use auto_mutex_tests::witness::{Verdict, Witness};
use auto_mutex_tests::worker::contest::is_strange_loss;
use auto_mutex_tests::worker::{Setup, Worker};

/// A configuration without the restart guard: the nodes have just been started, so no earlier lock can exist.
pub(crate) fn config(cluster: &Cluster) -> Config {
    let config = Config::new(cluster.url()).expect("a good URL");
    let config = config.namespace("suite").restart_guard(false);
    config.lease(LONG).connect_timeout("60s")
}

/// The longest lease in tests of failovers. A new primary grants nothing for this time and some seconds more.
pub(crate) const LEASE: Duration = Duration::from_secs(3);

/// A client whose calls wait until a new primary grants locks.
pub(crate) fn patient(cluster: &Cluster) -> Client {
    let config = config(cluster).longest_lease(LEASE).lease(LEASE);
    Client::connect(config.store_timeout("60s")).expect("a client")
}

/// A client with a lease that no test outlives.
pub(crate) fn client(cluster: &Cluster) -> Client {
    Client::connect(config(cluster)).expect("a client")
}

/// The slot of the lock `name`.
pub(crate) fn slot(cluster: &Cluster, name: &str) -> u16 {
    cluster.slot(&format!("suite:{name}"))
}

/// The first key of the lock `name`.
pub(crate) fn key(name: &str) -> String {
    format!("auto_mutex:{{suite:{name}}}")
}

/// Processes that compete for a lock, observed by a witness.
pub(crate) struct Contest {
    witness: Witness,
    workers: Vec<Worker>,
    until: Instant,
    said: Vec<String>,
}

impl Contest {
    pub(crate) fn begin(
        cluster: &Cluster,
        what: &str,
        (kind, name): (&str, &str),
        lease: Duration,
        duration: Duration,
    ) -> Self {
        let setup = Setup::new(env!("CARGO_BIN_EXE_test-worker"), cluster.url(), lease);
        let witness = Witness::new();
        let mut seed = Seed::announce(what);
        // Half of the processes keep what nobody else asks for.
        let keeping = Setup {
            options: vec!["retain=0.5".to_owned()],
            ..setup.clone()
        };
        let setups = [&setup, &keeping].into_iter().cycle();
        let mut workers: Vec<_> = setups.take(4).map(Setup::launch).collect();
        for worker in &mut workers {
            worker.ready();
            worker.say(&format!(
                "contest {kind} {name} {} 3 {} {}",
                duration.as_millis(),
                witness.port(),
                seed.below(u64::MAX),
            ));
            worker.expect("begun");
        }
        Self {
            witness,
            workers,
            until: Instant::now() + duration,
            said: Vec::new(),
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        Instant::now() >= self.until
    }

    /// Waits until the workers have made progress; returns the time that this took.
    pub(crate) fn gets_on(&self) -> Duration {
        let (started, before) = (Instant::now(), self.witness.progress());
        while self.witness.progress() < before + 2 && !self.is_over() {
            assert!(started.elapsed() < 2 * PATIENCE, "nobody gets on any more");
            thread::sleep(Duration::from_millis(2));
        }
        started.elapsed()
    }

    /// Waits for the end of all workers; returns the findings of the witness.
    pub(crate) fn verdict(&mut self) -> Verdict {
        for worker in &self.workers {
            let started = Instant::now();
            loop {
                match worker.overhear() {
                    Some(line) if line == "done" => break,
                    Some(line) => self.said.push(line),
                    None => thread::sleep(Duration::from_millis(5)),
                }
                assert!(
                    started.elapsed() < 4 * PATIENCE,
                    "a worker does not end: {:#?}",
                    self.said
                );
            }
        }
        let bad = |line: &&String| line.starts_with("violation") || line.starts_with("failed");
        let bad: Vec<_> = self.said.iter().filter(bad).collect();
        assert!(bad.is_empty(), "{bad:#?}");
        self.witness.verdict()
    }

    /// As [`verdict`](Self::verdict). Also checks that the lock never had too many holders, and that tokens grew.
    pub(crate) fn clean(&mut self) -> Verdict {
        let verdict = self.verdict();
        assert_eq!(verdict.overlaps, [""; 0], "too many at the same time");
        assert_eq!(verdict.token_faults, [""; 0], "a token that did not grow");
        assert!(verdict.proven > 0, "nobody was ever inside");
        println!(
            "{} turns, longest gap {:?}, {} losses",
            verdict.proven,
            verdict.longest_gap,
            self.losses()
        );
        verdict
    }

    /// Returns the number of losses that no stall of the machine explains.
    pub(crate) fn strange_losses(&self) -> usize {
        let strange = self.said.iter().filter(|line| is_strange_loss(line));
        strange.count()
    }

    /// Returns the number of losses that workers noticed.
    fn losses(&self) -> usize {
        let lost = self.said.iter().filter(|line| line.starts_with("lost "));
        lost.count()
    }
}
