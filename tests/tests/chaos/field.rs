//! The setting in which one fault is tried on one lock: a server, a witness, and three processes in a contest. For
//! network faults, each process connects through a proxy.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use auto_mutex_tests::clock::Clock;
use auto_mutex_tests::events::eventually_within;
use auto_mutex_tests::postgres::Postgres;
use auto_mutex_tests::proxy::Proxy;
use auto_mutex_tests::redis::Redis;
use auto_mutex_tests::seed::Seed;
use auto_mutex_tests::witness::{Turns, Witness};
use auto_mutex_tests::worker::{Setup, Worker};

use crate::locks::Lock;
use crate::needs::{Needs, Stay};
use crate::recovery::NEVER;
use crate::server::{Database, Server};

pub(crate) const LEASE: Duration = Duration::from_secs(1);
pub(crate) const PROCESSES: usize = 3;
const TASKS: usize = 2;
/// The longest pause between two turns of a task: short enough for constant contention, long enough to leave CPU time
/// for other contests.
const PAUSE: Duration = Duration::from_millis(12);
/// How long to search for a task that keeps the lock for a while.
const SOON: Duration = Duration::from_secs(1);
/// The duration that the workers are given. They never reach it, because the test ends the contest.
const ENDLESS: Duration = Duration::from_secs(24 * 3600);

pub(crate) struct Field {
    pub(crate) lock: Lock,
    pub(crate) server: Server,
    pub(crate) witness: Witness,
    pub(crate) turns: Turns,
    pub(crate) seed: Seed,
    pub(crate) workers: Vec<Worker>,
    pub(crate) clock: Option<Arc<Clock>>,
    /// One proxy for each worker, or none. Before a server with a standby, there are two for each: the first ones lead
    /// to one server, the others to the other.
    pub(crate) proxies: Vec<Proxy>,
    /// The lines that the workers have written, including those of killed workers.
    pub(crate) said: Vec<String>,
    /// The times at which two guards may be valid and only fencing tokens are promised, by the witness's clock.
    pub(crate) excused: Vec<RangeInclusive<u64>>,
    /// The length of the longest reply, and how many of its bytes are tried.
    pub(crate) bytes: (usize, usize),
    options: Vec<&'static str>,
    stay: Stay,
}

impl Field {
    /// Starts all servers and workers, and begins the contest.
    pub(crate) fn open(lock: Lock, needs: Needs, seed: Seed) -> Self {
        let server = Server::start(&needs);
        let mut proxies = Vec::new();
        if needs.proxies {
            let ports = server.ports().into_iter();
            proxies.extend(ports.flat_map(|port| (0..PROCESSES).map(move |_| Proxy::start(port))));
        }
        let witness = Witness::new();
        let mut field = Self {
            lock,
            turns: Turns::from_now(witness.port()),
            witness,
            seed,
            workers: Vec::new(),
            proxies,
            server,
            clock: needs.clock,
            said: Vec::new(),
            excused: Vec::new(),
            bytes: (0, 1),
            options: needs.options,
            stay: needs.stay,
        };
        field.fill_up();
        field
    }

    /// Starts workers in place of those that were killed.
    pub(crate) fn fill_up(&mut self) {
        let ports = |index| {
            let proxies = self.proxies.iter().skip(index).step_by(PROCESSES);
            let ports: Vec<_> = proxies.map(Proxy::port).collect();
            match ports.is_empty() {
                true => self.server.ports(),
                false => ports,
            }
        };
        let missing = self.workers.len()..PROCESSES;
        let launched: Vec<_> = missing
            .map(|index| {
                let url = self.server.url_at(&ports(index));
                let mut setup = Setup::new(env!("CARGO_BIN_EXE_test-worker"), url, LEASE);
                let options = self.options.iter().map(|&option| option.to_owned());
                setup.options.extend(options);
                // In other contests, some processes keep what nobody else asks for: after a fault that is their own
                // lock.
                if self.lock.is_kept() || index % 2 == 1 {
                    setup.options.push("retain=0.5".to_owned());
                }
                setup.launch()
            })
            .collect();
        for mut worker in launched {
            worker.ready();
            worker.say(&format!(
                "contest {} l {} {TASKS} {} {} {} {}",
                self.lock.contest,
                ENDLESS.as_millis(),
                self.witness.port(),
                self.seed.below(u64::MAX),
                PAUSE.as_micros(),
                self.stay.millis(),
            ));
            self.workers.push(worker);
        }
    }

    /// The Redis, for a fault that needs one.
    #[track_caller]
    pub(crate) fn redis(&self) -> &Redis {
        match &self.server {
            Server::Redis(redis) => redis,
            Server::Postgres(_) => panic!("a fault of Redis"),
        }
    }

    /// The primary, for a fault that needs PostgreSQL.
    #[track_caller]
    pub(crate) fn postgres(&self) -> &Postgres {
        match &self.server {
            Server::Postgres(database) => &database.primary,
            Server::Redis(_) => panic!("a fault of PostgreSQL"),
        }
    }

    #[track_caller]
    pub(crate) fn database(&mut self) -> &mut Database {
        match &mut self.server {
            Server::Postgres(database) => database,
            Server::Redis(_) => panic!("a fault of PostgreSQL"),
        }
    }

    /// The time of the witness's clock.
    pub(crate) fn now(&self) -> u64 {
        self.witness.now()
    }

    /// The process ids of the workers that are alive.
    pub(crate) fn alive(&self) -> Vec<u32> {
        self.workers.iter().map(Worker::pid).collect()
    }

    /// Chooses a worker to harm, mostly one with a task that holds the lock. Returns its index.
    pub(crate) fn victim(&mut self) -> usize {
        let inside = self.witness.inside();
        let has_one = |index: &usize| {
            let pid = format!("{}/", self.workers[*index].pid());
            inside.iter().any(|who| who.starts_with(&pid))
        };
        let found: Vec<_> = (0..self.workers.len()).filter(has_one).collect();
        if found.is_empty() || self.seed.below(4) == 0 {
            return self.seed.below(self.workers.len() as u64) as usize;
        }
        *self.seed.pick(&found)
    }

    /// Lets the contest run until some moment, often one at which a task keeps the lock for a while.
    pub(crate) fn moment(&mut self) {
        self.pass(0, 300);
        if self.seed.below(4) == 0 {
            return;
        }
        let begun = Instant::now();
        let (mut before, mut entered) = (self.witness.inside(), self.witness.progress());
        while begun.elapsed() < SOON {
            self.pass(10, 20);
            let (now, progress) = (self.witness.inside(), self.witness.progress());
            // A task that was inside before still is. It may have taken the lock again, but has probably kept it.
            if progress > entered && now.iter().any(|who| before.contains(who)) {
                return;
            }
            (before, entered) = (now, progress);
        }
    }

    /// Lets the contest run for at least `least` milliseconds, and up to `more` longer.
    pub(crate) fn pass(&mut self, least: u64, more: u64) {
        thread::sleep(Duration::from_millis(least + self.seed.below(more)));
    }

    /// Lets the contest run for somewhat longer than a lease.
    pub(crate) fn pass_a_lease(&mut self) {
        self.pass(LEASE.as_millis() as u64 + 200, 600);
    }

    /// Allows valid guards for a lock that the store has lost, from `struck` until a lease from now.
    pub(crate) fn excuse(&mut self, struck: u64) {
        let until = self.now() + LEASE.as_micros() as u64;
        self.excused.push(struck..=until);
    }

    pub(crate) fn listen(&mut self) {
        for worker in &self.workers {
            self.said.extend(std::iter::from_fn(|| worker.overhear()));
        }
    }

    /// Ends the contest: all workers release their locks and shut down.
    pub(crate) fn close(&mut self) {
        for (word, answer) in [("enough", "done"), ("shutdown", "ok")] {
            let count = |said: &[String]| said.iter().filter(|line| *line == answer).count();
            self.workers.iter_mut().for_each(|worker| worker.say(word));
            eventually_within(NEVER, "all workers end", || {
                self.listen();
                count(&self.said) == self.workers.len()
            });
        }
    }
}
