//! A World of the test kit: hosts, a network and a store in one thread, in virtual time.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::SystemTime;

use auto_mutex::test::{Runs, World, run};
use auto_mutex::{Client, Config};

use super::case::{Case, TestStore, suits};
use crate::events::{finishes_within, pause_by};
use crate::real_time::LIMIT;

/// Other seeds are other orders of tasks and messages.
const SEEDS: u32 = 2;
/// Without handoff, clients send every release to the store.
const HANDOFF: [bool; 2] = [true, false];

/// The store of a World. Each member is a host, and all threads are on one more host.
struct InWorld {
    world: World,
    threads: Client,
    handoff: bool,
    hosts: AtomicU32,
}

/// Runs `case` in Worlds, with a limit of real time.
#[track_caller]
pub fn run_in_world(case: Case) {
    finishes_within(LIMIT, "the test ends", move || {
        for handoff in HANDOFF {
            // Cases have barriers and counters.
            let runs = Runs::new().seeds(SEEDS).repeatable(false);
            run(runs, |world| async move {
                let store = InWorld {
                    threads: world.client("threads"),
                    world,
                    handoff,
                    hosts: AtomicU32::default(),
                };
                case(&store).await;
            });
        }
    });
}

impl TestStore for InWorld {
    fn config(&self) -> Config {
        let number = self.hosts.fetch_add(1, Ordering::Relaxed);
        let config = suits(self.world.config(&format!("host{number}")));
        match self.handoff {
            true => config,
            false => config.local_handoff(0, "0s"),
        }
    }

    fn answer(&self, answers: bool) -> bool {
        match answers {
            true => self.world.restart_empty(),
            false => self.world.oom_crash(),
        };
        true
    }

    fn forget(&self, name: &str) -> bool {
        self.world.lose(format!("suite:{name}").as_str());
        true
    }

    fn spawn(&self, work: Box<dyn FnOnce() + Send>) {
        let work = || {
            pause_by(auto_mutex::test::sleep);
            work();
        };
        drop(self.world.thread(&self.threads, work));
    }

    fn has_virtual_time(&self) -> bool {
        true
    }

    /// Processes of a World have small numbers.
    fn is_ours(&self, pid: u32) -> bool {
        (1..100).contains(&pid)
    }

    /// The clock of a World begins in the past.
    fn is_lately(&self, time: SystemTime) -> bool {
        time < SystemTime::now()
    }
}
