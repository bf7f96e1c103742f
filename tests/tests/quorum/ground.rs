//! Five servers, each behind a proxy, and processes that compete for their locks while a witness checks them.

use std::time::Duration;

use auto_mutex::{Client, Config};
use auto_mutex_tests::events::eventually;
use auto_mutex_tests::proxy::Proxy;
use auto_mutex_tests::redis::{Options, Redis};
use auto_mutex_tests::seed::Seed;
use auto_mutex_tests::stores::quorum_url;
use auto_mutex_tests::witness::Witness;
use auto_mutex_tests::worker::{Setup, Worker};

pub(crate) const SERVERS: usize = 5;

pub(crate) struct Ground {
    pub(crate) servers: Vec<Redis>,
    pub(crate) proxies: Vec<Proxy>,
    pub(crate) seed: Seed,
    /// The time for which a server grants nothing after its start; zero means that the server grants at once.
    pub(crate) guard: Duration,
}

impl Ground {
    /// Starts the servers.
    pub(crate) fn open(what: &str) -> Self {
        Self::of(what, Redis::several(SERVERS, &Options::default()))
    }

    pub(crate) fn of(what: &str, servers: Vec<Redis>) -> Self {
        Self {
            proxies: servers
                .iter()
                .map(|server| Proxy::start(server.port()))
                .collect(),
            servers,
            seed: Seed::announce(what),
            guard: Duration::ZERO,
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
            .connect_timeout("60s")
            .store_timeout("60s");
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
        let url = quorum_url(self.servers.iter().map(Redis::port));
        Client::connect(self.config_at(url, lease)).unwrap()
    }

    /// Connects a member to one server alone, not through its proxy.
    pub(crate) fn member_of(&self, server: usize) -> Client {
        let config = Config::new(self.servers[server].url()).unwrap();
        // With a longer `longest_lease` than the others, this member would keep a restarted server closed for all of
        // them.
        let lease = self.guard.max(Duration::from_secs(1));
        let config = config.lease(lease).longest_lease(lease);
        let config = config.connect_timeout("60s").store_timeout("60s");
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

/// Processes that compete for a lock until the test has seen enough.
pub(crate) struct Contest {
    witness: Witness,
    workers: Vec<Worker>,
    tasks: usize,
}

impl Contest {
    /// Starts five processes with `tasks` tasks each, and waits until all have had turns.
    pub(crate) fn begin(ground: &mut Ground, lease: Duration, tasks: usize) -> Self {
        let witness = Witness::new();
        let mut workers: Vec<_> = (0..SERVERS).map(|_| ground.launch(lease)).collect();
        for worker in &mut workers {
            worker.ready();
            let (port, seed) = (witness.port(), ground.seed.below(u64::MAX));
            worker.say(&format!("contest mutex m 600000 {tasks} {port} {seed}"));
        }
        let contest = Self {
            witness,
            workers,
            tasks,
        };
        contest.gets_on("the contest begins");
        contest
    }

    /// Waits until each task has had one more turn.
    #[track_caller]
    pub(crate) fn gets_on(&self, what: &str) {
        let entered = || self.witness.verdict().entered;
        let (before, mut seen) = (entered(), self.witness.progress());
        eventually(what, || {
            // The whole log is read only now and then.
            let progress = self.witness.progress();
            if progress < seen + SERVERS as u64 {
                return false;
            }
            seen = progress;
            let now = entered();
            let has_turn = |(who, count): (&String, &u64)| count > before.get(who).unwrap_or(&0);
            now.len() == SERVERS * self.tasks && now.iter().all(has_turn)
        });
    }

    /// Ends the contest. Checks that the lock never had too many holders, and that tokens grew.
    #[track_caller]
    pub(crate) fn end(mut self) {
        self.witness.end_contest(&mut self.workers);
    }
}
