//! Clients of a cluster, and contests between processes on it.

use std::time::Duration;

use auto_mutex::{Client, Config};
use auto_mutex_tests::cluster::Cluster;
pub(crate) use auto_mutex_tests::events::waiters;
use auto_mutex_tests::events::{LONG, eventually};
use auto_mutex_tests::seed::Seed;
use auto_mutex_tests::witness::Witness;
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

/// Processes that compete for a lock until the test has seen enough, observed by a witness.
pub(crate) struct Contest {
    witness: Witness,
    workers: Vec<Worker>,
}

impl Contest {
    pub(crate) fn begin(cluster: &Cluster, what: &str, kind: &str, name: &str) -> Self {
        let setup = Setup::new(env!("CARGO_BIN_EXE_test-worker"), cluster.url(), LONG);
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
            let (port, seed) = (witness.port(), seed.below(u64::MAX));
            worker.say(&format!("contest {kind} {name} 600000 3 {port} {seed}"));
            worker.expect("begun");
        }
        Self { witness, workers }
    }

    /// Waits until the workers have made progress.
    pub(crate) fn gets_on(&self) {
        let before = self.witness.progress();
        eventually("they get on", || self.witness.progress() >= before + 20);
    }

    /// Ends the contest. Checks that the lock never had too many holders, that tokens grew, and that no lock was lost.
    pub(crate) fn ends_well(&mut self) {
        let (verdict, said) = self.witness.end_contest(&mut self.workers);
        assert_eq!(said.iter().find(|line| is_strange_loss(line)), None);
        assert!(verdict.proven > 0, "nobody was ever inside");
        assert_eq!(verdict.crowded, 0, "the plain counter saw too many inside");
        assert_eq!(verdict.stale_writes, 0, "a register refused a write");
    }
}
