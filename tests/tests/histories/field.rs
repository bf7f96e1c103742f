//! Processes that use one lock, some of them behind proxies, and the faults of the processes and of their servers.

use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use auto_mutex_tests::events::eventually;
use auto_mutex_tests::proxy::Proxy;
use auto_mutex_tests::seed::Seed;
use auto_mutex_tests::witness::Witness;
use auto_mutex_tests::worker::{Setup, Worker};
use tempfile::TempDir;

use crate::ground::Ground;

pub(crate) const PROCESSES: usize = 4;
const TASKS: usize = 4;
const LEASE: Duration = Duration::from_secs(1);
/// A pause in which every lease ends and another task can get the lock.
const BEYOND: Duration = Duration::from_millis(1600);

pub(crate) struct Plan {
    /// The name of the test, which is needed to repeat it.
    pub(crate) test: &'static str,
    /// The kind, in the format of the worker's `contest`.
    pub(crate) kind: &'static str,
    pub(crate) duration: Duration,
}

pub(crate) struct Field {
    pub(crate) plan: Plan,
    ground: Ground,
    witness: Witness,
    seed: Seed,
    workers: Vec<Worker>,
    until: Instant,
    dir: TempDir,
    /// The number of calls that failed in order to end a deadlock.
    pub(crate) deadlocks: u64,
    /// The faults that have struck.
    pub(crate) faults: Vec<&'static str>,
}

impl Field {
    /// Starts the workers, and distributes them over the URLs of `ground`.
    pub(crate) fn open(plan: Plan, ground: Ground) -> Self {
        let mut field = Self {
            seed: Seed::announce(plan.test),
            until: Instant::now(),
            witness: Witness::new(),
            workers: Vec::new(),
            dir: tempfile::tempdir().expect("a directory"),
            deadlocks: 0,
            faults: Vec::new(),
            ground,
            plan,
        };
        let workers: Vec<_> = (0..PROCESSES).map(|index| field.launch(index)).collect();
        workers.iter().for_each(Worker::ready);
        field.until = Instant::now() + field.plan.duration;
        for worker in workers {
            let kind = field.plan.kind;
            field.admit(worker, kind);
        }
        field
    }

    fn launch(&self, index: usize) -> Worker {
        let urls = &self.ground.urls;
        let url = urls[index % urls.len()].clone();
        let mut options = vec!["deadlock=0.1".to_owned()];
        // Half of the processes keep what nobody else asks for, over each of the URLs. A quorum refuses the setting.
        if !url.starts_with("redlock:") && index / 2 % 2 == 1 || self.plan.kind.starts_with("kept")
        {
            options.push("retain=0.5".to_owned());
        }
        let setup = Setup::new(env!("CARGO_BIN_EXE_test-worker"), url, LEASE);
        Setup { options, ..setup }.launch()
    }

    /// The file with the history of all workers.
    pub(crate) fn file(&self) -> PathBuf {
        self.dir.path().join("history")
    }

    fn admit(&mut self, mut worker: Worker, kind: &str) {
        let left = self.until.saturating_duration_since(Instant::now());
        worker.say(&format!(
            "contest {kind} n {} {TASKS} {} {} {}",
            left.as_millis(),
            self.witness.port(),
            self.seed.below(u64::MAX),
            self.file().display(),
        ));
        self.workers.push(worker);
    }

    pub(crate) fn is_over(&self) -> bool {
        Instant::now() >= self.until
    }

    /// Waits for some time without a fault, and then causes one.
    pub(crate) fn trouble(&mut self) {
        let peace = Duration::from_millis(100 + self.seed.below(500));
        thread::sleep(peace);
        let number = self.seed.below(PROCESSES as u64) as usize;
        // The pause is shorter than a lease, or long enough to end every lease.
        let pause = match self.seed.below(3) {
            0 => Duration::from_millis(self.seed.below(1000)),
            _ => BEYOND,
        };
        let fault = match self.seed.below(8) {
            0 | 1 => self.kill(number),
            2 => self.suspend(&[number], pause),
            3 => self.suspend(&[number, (number + 1) % PROCESSES], pause),
            4 => self.cut(),
            5 => self.freeze(pause, Proxy::freeze, "a link that stands still"),
            6 => self.freeze(pause, Proxy::hold_replies, "replies that come late"),
            _ => self.restart(),
        };
        self.faults.push(fault);
    }

    fn kill(&mut self, number: usize) -> &'static str {
        let mut victim = self.workers.swap_remove(number);
        victim.kill9();
        let next = self.launch(number);
        self.admit(next, self.plan.kind);
        "kill -9"
    }

    fn suspend(&mut self, numbers: &[usize], pause: Duration) -> &'static str {
        for number in numbers {
            self.workers[*number].stop();
        }
        thread::sleep(pause);
        for number in numbers {
            self.workers[*number].cont();
        }
        "a pause"
    }

    /// Chooses a server for a fault.
    fn server(&mut self) -> usize {
        self.seed.below(self.ground.servers.len() as u64) as usize
    }

    fn cut(&mut self) -> &'static str {
        let server = self.server();
        self.ground.proxies[server].cut();
        "a cut"
    }

    fn freeze(&mut self, pause: Duration, how: fn(&Proxy), what: &'static str) -> &'static str {
        let server = self.server();
        let proxy = &self.ground.proxies[server];
        how(proxy);
        thread::sleep(pause);
        proxy.thaw();
        what
    }

    fn restart(&mut self) -> &'static str {
        let server = self.server();
        self.ground.servers[server].restart(&mut self.seed)
    }

    /// Waits until all workers are done.
    pub(crate) fn close(&mut self) {
        let workers = std::mem::take(&mut self.workers);
        for worker in &workers {
            eventually("a worker is done", || {
                let mut done = false;
                while let Some(line) = worker.overhear() {
                    // If a worker got no connection because of the faults, it takes no part.
                    let absent = line.starts_with("failed setup");
                    let fault = line.starts_with("violation") || line.starts_with("failed");
                    assert!(!fault || absent, "{line}");
                    done |= line == "done" || absent;
                    let deadlocks = line.rsplit_once(" deadlocks=");
                    let deadlocks = deadlocks.map(|(_, count)| count.parse::<u64>());
                    self.deadlocks += deadlocks.map_or(0, |count| count.expect("a number"));
                }
                done
            });
        }
    }
}
