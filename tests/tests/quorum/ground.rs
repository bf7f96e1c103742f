//! Five servers, each behind a proxy, and processes that compete for their locks while a witness checks them.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use auto_mutex::{Client, Config};
use auto_mutex_tests::proxy::Proxy;
use auto_mutex_tests::redis::{Options, Redis};
use auto_mutex_tests::seed::Seed;
use auto_mutex_tests::stores::quorum_url;
use auto_mutex_tests::witness::{Verdict, Witness};
use auto_mutex_tests::worker::{Setup, Worker};

pub(crate) const SERVERS: usize = 5;

/// Only one test at a time uses a ground.
static ALONE: Mutex<()> = Mutex::new(());

pub(crate) struct Ground {
    pub(crate) servers: Vec<Redis>,
    pub(crate) proxies: Vec<Proxy>,
    pub(crate) seed: Seed,
    /// The time for which a server grants nothing after its start; zero means that the server grants at once.
    pub(crate) guard: Duration,
    _alone: MutexGuard<'static, ()>,
}

impl Ground {
    /// Starts the servers.
    pub(crate) fn open(what: &str) -> Self {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let servers = Redis::several(SERVERS, &Options::default());
        Self {
            proxies: servers
                .iter()
                .map(|server| Proxy::start(server.port()))
                .collect(),
            servers,
            seed: Seed::announce(what),
            guard: Duration::ZERO,
            _alone: alone,
        }
    }

    /// The URL of the servers behind their proxies.
    fn url(&self) -> String {
        quorum_url(self.proxies.iter().map(Proxy::port))
    }

    pub(crate) fn config(&self, lease: Duration) -> Config {
        self.config_at(self.url(), lease)
    }

    fn config_at(&self, url: String, lease: Duration) -> Config {
        let config = Config::new(url).unwrap();
        let config = config
            .namespace("suite")
            .lease(lease)
            .connect_timeout("60s");
        match self.guard.is_zero() {
            true => config.restart_guard(false),
            false => config.restart_guard(true).longest_lease(self.guard),
        }
    }

    pub(crate) fn member(&self, lease: Duration) -> Client {
        Client::connect(self.config(lease)).unwrap()
    }

    /// Connects a member directly to the servers, not through the proxies.
    pub(crate) fn member_beside(&self, lease: Duration) -> Client {
        self.member_at(quorum_url(self.servers.iter().map(Redis::port)), lease)
    }

    /// Connects a member by another URL.
    pub(crate) fn member_at(&self, url: String, lease: Duration) -> Client {
        Client::connect(self.config_at(url, lease)).unwrap()
    }

    /// Connects a member to one server alone, not through its proxy.
    pub(crate) fn member_of(&self, server: usize) -> Client {
        let config = Config::new(self.servers[server].url()).unwrap();
        // With a longer `longest_lease` than the others, this member would keep a restarted server closed for all of them.
        let lease = self.guard.max(Duration::from_secs(1));
        let config = config.lease(lease).longest_lease(lease);
        Client::connect(config.namespace("suite").restart_guard(false)).unwrap()
    }

    /// Starts a process; its first line is `ready`.
    pub(crate) fn launch(&self, lease: Duration) -> Worker {
        let mut setup = Setup::new(env!("CARGO_BIN_EXE_test-worker"), self.url(), lease);
        if !self.guard.is_zero() {
            let longest = format!("longest_lease={}", self.guard.as_secs_f64());
            setup.options.extend(["guarded".to_owned(), longest]);
        }
        setup.launch()
    }

    /// Returns `count` random servers.
    pub(crate) fn some(&mut self, count: usize) -> Vec<usize> {
        let mut all: Vec<_> = (0..SERVERS).collect();
        let chosen =
            (0..count).map(|_| all.swap_remove(self.seed.below(all.len() as u64) as usize));
        chosen.collect()
    }
}

/// Processes that compete for a lock.
pub(crate) struct Contest {
    witness: Witness,
    workers: Vec<Worker>,
    said: Vec<String>,
    started: Instant,
    duration: Duration,
}

impl Contest {
    /// Starts five processes with `tasks` tasks each.
    pub(crate) fn begin(
        ground: &mut Ground,
        kind: &str,
        tasks: u32,
        (lease, duration): (Duration, Duration),
    ) -> Self {
        let witness = Witness::new();
        let mut workers: Vec<_> = (0..SERVERS).map(|_| ground.launch(lease)).collect();
        for worker in &workers {
            worker.ready();
        }
        for worker in &mut workers {
            let (port, seed) = (witness.port(), ground.seed.below(u64::MAX));
            let millis = duration.as_millis();
            worker.say(&format!("contest {kind} m {millis} {tasks} {port} {seed}"));
        }
        Self {
            witness,
            workers,
            said: Vec::new(),
            started: Instant::now(),
            duration,
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.started.elapsed() >= self.duration
    }

    /// Returns the number of turns that the witness has counted.
    pub(crate) fn progress(&self) -> u64 {
        self.witness.progress()
    }

    /// Waits until there were some more turns, or the contest is over.
    #[track_caller]
    pub(crate) fn gets_on(&self, what: &str) {
        let before = self.progress();
        auto_mutex_tests::events::eventually_within(Duration::from_secs(8), what, || {
            self.progress() > before + 4 || self.is_over()
        });
    }

    /// Waits for the end. Checks that the lock never had too many holders, that tokens grew, and that every task had a turn.
    #[track_caller]
    pub(crate) fn end(mut self) -> Verdict {
        for worker in &self.workers {
            loop {
                let line = worker.hear().expect("a worker ended");
                let done = line == "done";
                self.said.push(line);
                if done {
                    break;
                }
            }
        }
        let took = self.started.elapsed();
        let bad = |line: &&String| line.starts_with("violation") || line.starts_with("failed");
        let bad: Vec<_> = self.said.iter().filter(bad).collect();
        assert!(bad.is_empty(), "{bad:#?}");
        let verdict = self.witness.verdict();
        let none = Vec::<String>::new();
        assert_eq!(verdict.overlaps, none, "too many holders at the same time");
        assert_eq!(verdict.token_faults, none, "a token that did not grow");
        let turns = self.figures("turns");
        assert!(
            turns.iter().all(|&turns| turns > 0),
            "somebody starved: {turns:?}"
        );
        let sum: u64 = turns.iter().sum();
        println!(
            "{sum} turns in {took:?}, {:.0} a second, by task {turns:?}, longest wait {:?} ms, longest gap {:?}, {} losses, {} unavailable",
            sum as f64 / took.as_secs_f64(),
            self.figures("longest_ms").iter().max(),
            verdict.longest_gap,
            self.said
                .iter()
                .filter(|line| line.starts_with("lost "))
                .count(),
            self.figures("unavailable").iter().sum::<u64>(),
        );
        verdict
    }

    /// Returns a figure from the report of each task.
    pub(crate) fn figures(&self, figure: &str) -> Vec<u64> {
        let figure = format!("{figure}=");
        let reports = self.said.iter().filter(|line| line.starts_with("task "));
        reports
            .filter_map(|line| line.split(' ').find_map(|word| word.strip_prefix(&figure)))
            .map(|value| value.parse().expect("a number"))
            .collect()
    }
}
