//! Eight processes of eight tasks on one name, and those who watch them.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use auto_mutex_tests::events::{eventually, eventually_within};
use auto_mutex_tests::redis::{Options, Redis};
use auto_mutex_tests::seed::Seed;
use auto_mutex_tests::witness::{Verdict, Witness};
use auto_mutex_tests::worker::{Setup, Worker};

pub(crate) const PROCESSES: usize = 8;
const TASKS: usize = 8;

/// The longest that a task may have to wait to the end of its last attempt.
const LAST_ATTEMPTS: Duration = Duration::from_secs(60);

/// One campaign at a time.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How long a campaign lasts.
pub(crate) fn duration(default: u64) -> Duration {
    let seconds = std::env::var("AUTO_MUTEX_CAMPAIGN_SECONDS");
    let seconds = seconds.ok().and_then(|seconds| seconds.parse().ok());
    Duration::from_secs(seconds.unwrap_or(default))
}

pub(crate) struct Arena {
    pub(crate) redis: Redis,
    pub(crate) witness: Witness,
    pub(crate) seed: Seed,
    pub(crate) workers: Vec<Worker>,
    setup: Setup,
    until: Instant,
    /// What workers said, those that have been killed included.
    pub(crate) said: Vec<String>,
}

impl Arena {
    /// Starts the store, the witness and the workers, and lets them begin.
    pub(crate) fn open(what: &str, lease: Duration, duration: Duration) -> Self {
        let redis = Redis::with(Options::default().persistent());
        let setup = Setup {
            program: env!("CARGO_BIN_EXE_test-worker"),
            url: redis.url(),
            lease,
        };
        let mut arena = Self {
            redis,
            witness: Witness::new(),
            seed: Seed::announce(what),
            workers: Vec::new(),
            setup,
            until: Instant::now(),
            said: Vec::new(),
        };
        let workers: Vec<_> = (0..PROCESSES).map(|_| arena.setup.launch()).collect();
        for worker in &workers {
            worker.expect("ready");
        }
        arena.until = Instant::now() + duration;
        for worker in workers {
            arena.admit(worker);
        }
        arena
    }

    fn admit(&mut self, mut worker: Worker) {
        let left = self.until.saturating_duration_since(Instant::now());
        worker.say(&format!(
            "contest m {} {TASKS} {} {}",
            left.as_millis(),
            self.witness.port(),
            self.seed.below(u64::MAX),
        ));
        self.workers.push(worker);
    }

    pub(crate) fn is_over(&self) -> bool {
        Instant::now() >= self.until
    }

    /// Lets the contest go on for `duration`, but never beyond its end, looking at the keys now and then.
    pub(crate) fn watch(&mut self, duration: Duration) {
        let until = self.until.min(Instant::now() + duration);
        while Instant::now() < until {
            assert_eq!(
                self.redis.keys_without_ttl(),
                [],
                "a key that would stay for ever"
            );
            self.listen();
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// A worker to harm, suspended: mostly caught inside, where it hurts, sometimes any.
    pub(crate) fn victim(&mut self) -> usize {
        if self.seed.below(4) > 0 {
            return self.caught_inside();
        }
        let any = self.seed.below(PROCESSES as u64) as usize;
        self.workers[any].stop();
        any
    }

    /// A worker suspended while it is inside.
    pub(crate) fn caught_inside(&self) -> usize {
        let mut caught = None;
        eventually("a worker is caught inside", || {
            caught = self.inside().filter(|&index| {
                self.workers[index].stop();
                // It may have left before it stopped, but not after; a signal takes a moment.
                thread::sleep(Duration::from_millis(1));
                let still = self.inside() == Some(index);
                if !still {
                    self.workers[index].cont();
                }
                still
            });
            // Over: nobody will be inside any more, and any will do.
            caught.is_some() || self.is_over()
        });
        caught.unwrap_or_else(|| {
            self.workers[0].stop();
            0
        })
    }

    fn inside(&self) -> Option<usize> {
        let pid = process(&self.witness.inside()?);
        let mut workers = self.workers.iter();
        workers.position(|worker| worker.pid().to_string() == pid)
    }

    fn listen(&mut self) {
        for worker in &self.workers {
            while let Some(line) = worker.overhear() {
                self.said.push(line);
            }
        }
    }

    /// Kills a worker and sends another in its place; if the contest is over, lets it go on instead.
    pub(crate) fn replace(&mut self, index: usize) {
        if self.is_over() {
            self.workers[index].cont();
            return;
        }
        self.listen();
        let mut victim = self.workers.swap_remove(index);
        victim.kill9();
        while let Some(line) = victim.overhear() {
            self.said.push(line);
        }
        let next = self.setup.launch();
        // Its first line is heard with the others'.
        self.admit(next);
    }

    /// Waits until all workers are done, and returns the verdict.
    pub(crate) fn close(&mut self) -> Verdict {
        let alive = self.workers.len();
        eventually_within(LAST_ATTEMPTS, "all workers finish", || {
            self.listen();
            let done = self.said.iter().filter(|line| *line == "done").count();
            done == alive
        });
        let violations: Vec<_> = self
            .said
            .iter()
            .filter(|line| line.starts_with("violation") || line.starts_with("failed"))
            .collect();
        assert!(violations.is_empty(), "{violations:#?}");
        self.witness.verdict()
    }

    /// A figure that the tasks reported, of each.
    pub(crate) fn figures(&self, figure: &str) -> Vec<u64> {
        let figure = format!("{figure}=");
        let reports = self.said.iter().filter(|line| line.starts_with("task "));
        reports
            .filter_map(|line| line.split(' ').find_map(|word| word.strip_prefix(&figure)))
            .map(|value| value.parse().expect("a number"))
            .collect()
    }
}

/// What must hold after every contest, whatever happened in it.
pub(crate) fn is_clean(verdict: &Verdict) {
    assert_eq!(
        verdict.overlaps,
        Vec::<String>::new(),
        "two holders at the same time"
    );
    assert_eq!(
        verdict.token_faults,
        Vec::<String>::new(),
        "a token that did not grow"
    );
    assert!(verdict.proven > 0, "nobody was ever inside");
}

/// The process that somebody belongs to.
pub(crate) fn process(who: &str) -> String {
    who.split('/').next().unwrap_or_default().to_owned()
}
