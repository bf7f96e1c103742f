//! A contest of eight processes with eight tasks each, and the checks while it runs.

mod dead;
mod plan;
mod store;
mod victims;

use std::thread;
use std::time::{Duration, Instant};

use auto_mutex::{Client, Config};
use auto_mutex_tests::events::PATIENCE;
use auto_mutex_tests::seed::Seed;
use auto_mutex_tests::witness::{Verdict, Witness};
use auto_mutex_tests::worker::contest::is_strange_loss;
use auto_mutex_tests::worker::{Setup, Worker};

use dead::Dead;
pub(crate) use plan::{NAME, Plan, duration};
pub(crate) use store::Store;

pub(crate) const PROCESSES: usize = 8;
const TASKS: usize = 8;

pub(crate) struct Arena {
    pub(crate) store: Store,
    pub(crate) witness: Witness,
    pub(crate) seed: Seed,
    pub(crate) workers: Vec<Worker>,
    pub(crate) plan: Plan,
    /// A client that only observes.
    pub(crate) observer: Client,
    /// The processes that were killed.
    pub(crate) dead: Dead,
    setup: Setup,
    until: Instant,
    /// The last progress, and when it was first seen.
    progress: (u64, Instant),
    /// The lines of the workers, including killed ones.
    pub(crate) said: Vec<String>,
}

impl Arena {
    /// Starts Redis, the witness and the workers, and begins the contest.
    pub(crate) fn open(plan: Plan) -> Self {
        Self::on(Store::redis(), plan)
    }

    /// The same on any store.
    pub(crate) fn on(store: Store, plan: Plan) -> Self {
        let mut setup = Setup::new(env!("CARGO_BIN_EXE_test-worker"), store.url(), plan.lease);
        setup.options.push("store_timeout=60".to_owned());
        let config = Config::new(store.url()).expect("a good URL");
        // A store that has lost its locks is closed for the longest lease.
        let config = config.lease(plan.lease).longest_lease(plan.lease);
        // The first client makes the tables of PostgreSQL.
        let config = config.connect_timeout("60s").store_timeout("60s");
        let mut arena = Self {
            observer: Client::connect(config.namespace("suite")).expect("an observer"),
            store,
            witness: Witness::new(),
            seed: Seed::announce(plan.what),
            workers: Vec::new(),
            dead: Dead::default(),
            setup,
            until: Instant::now(),
            progress: (0, Instant::now()),
            said: Vec::new(),
            plan,
        };
        let workers: Vec<_> = (0..PROCESSES).map(|_| arena.launch()).collect();
        for worker in &workers {
            worker.ready();
        }
        arena.until = Instant::now() + arena.plan.duration;
        for worker in workers {
            arena.admit(worker);
        }
        arena
    }

    /// Half of the processes keep what nobody else asks for.
    fn launch(&mut self) -> Worker {
        let mut setup = self.setup.clone();
        if self.seed.below(2) == 0 {
            setup.options.push("retain=0.5".to_owned());
        }
        setup.launch()
    }

    fn admit(&mut self, mut worker: Worker) {
        let left = self.until.saturating_duration_since(Instant::now());
        worker.say(&format!(
            "contest mutex {NAME} {} {TASKS} {} {}",
            left.as_millis(),
            self.witness.port(),
            self.seed.below(u64::MAX),
        ));
        self.workers.push(worker);
    }

    pub(crate) fn is_over(&self) -> bool {
        Instant::now() >= self.until
    }

    /// Lets the contest run for `duration`, but not beyond its end, and checks everything at intervals.
    pub(crate) fn watch(&mut self, duration: Duration) {
        let until = self.until.min(Instant::now() + duration);
        while Instant::now() < until {
            self.look();
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Lets the contest run until `condition` holds, but not beyond its end.
    pub(crate) fn watch_until(&mut self, condition: impl Fn(&Self) -> bool) {
        while !condition(self) && !self.is_over() {
            self.watch(Duration::from_millis(20));
        }
    }

    /// Lets the contest run to its end.
    pub(crate) fn watch_to_the_end(&mut self) {
        let left = self.until.saturating_duration_since(Instant::now());
        self.watch(left);
    }

    /// Checks keys, workers, killed processes and progress once.
    pub(crate) fn look(&mut self) {
        self.store.look();
        self.listen();
        self.dead.look(&self.observer);
        let progress = self.witness.progress() + self.said.len() as u64;
        if progress != self.progress.0 {
            self.progress = (progress, Instant::now());
        }
        if self.progress.1.elapsed() > PATIENCE {
            panic!("nobody gets on any more: {}", self.standing());
        }
    }

    /// Who holds and who waits, for an error message.
    fn standing(&self) -> String {
        let info = self.observer.mutex(NAME).blocking_info();
        format!("{info:#?}\n{:#?}", self.said)
    }

    fn listen(&mut self) {
        for worker in &self.workers {
            while let Some(line) = worker.overhear() {
                self.said.push(line);
            }
        }
    }

    /// Kills a worker and starts another one in its place. If the contest is over, resumes the worker instead.
    pub(crate) fn replace(&mut self, index: usize) {
        if self.is_over() {
            self.workers[index].cont();
            return;
        }
        self.listen();
        let mut victim = self.workers.swap_remove(index);
        victim.kill9();
        self.dead.killed(victim.pid());
        while let Some(line) = victim.overhear() {
            self.said.push(line);
        }
        let next = self.launch();
        // The new worker's first line is read later, with those of the other workers.
        self.admit(next);
    }

    /// Waits until all workers are done and the store keeps nothing of killed ones, and returns the verdict.
    pub(crate) fn close(&mut self) -> Verdict {
        let done = |said: &[String]| said.iter().filter(|line| *line == "done").count();
        while done(&self.said) < self.workers.len() || !self.dead.all_freed() {
            self.look();
            thread::sleep(Duration::from_millis(20));
        }
        let violations: Vec<_> = self
            .said
            .iter()
            .filter(|line| line.starts_with("violation") || line.starts_with("failed"))
            .collect();
        assert!(violations.is_empty(), "{violations:#?}");
        self.witness.verdict()
    }

    /// The number of losses that no late process explains.
    pub(crate) fn strange_losses(&self) -> usize {
        let strange = self.said.iter().filter(|line| is_strange_loss(line));
        strange.count()
    }

    /// The number of losses that tasks noticed.
    pub(crate) fn losses(&self) -> usize {
        let lost = self.said.iter().filter(|line| line.starts_with("lost "));
        lost.count()
    }

    /// The values of a figure, one from the report of each task.
    pub(crate) fn figures(&self, figure: &str) -> Vec<u64> {
        let figure = format!("{figure}=");
        let reports = self.said.iter().filter(|line| line.starts_with("task "));
        reports
            .filter_map(|line| line.split(' ').find_map(|word| word.strip_prefix(&figure)))
            .map(|value| value.parse().expect("a number"))
            .collect()
    }

    /// The sum of a figure over all tasks.
    pub(crate) fn sum(&self, figure: &str) -> u64 {
        self.figures(figure).iter().sum()
    }
}

/// The process of a task; `who` is `PID/TASK`.
pub(crate) fn process(who: &str) -> String {
    who.split('/').next().unwrap_or_default().to_owned()
}
