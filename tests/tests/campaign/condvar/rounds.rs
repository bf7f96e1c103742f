//! In each round, several processes wait. The test suspends some of them, sends notifications, and then kills or
//! resumes the suspended ones. As many waiters wake in living processes as were notified.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::{Duration, Instant};

use auto_mutex::{Client, Config};
use auto_mutex_tests::events::{LONG, eventually};
use auto_mutex_tests::real_time::real_time_for;
use auto_mutex_tests::redis::Redis;
use auto_mutex_tests::seed::Seed;
use auto_mutex_tests::worker::{Setup, Worker};

use crate::arena::duration;

const PROCESSES: u64 = 4;
/// Condition variables in use at the same time.
const NAMES: u64 = 6;
/// Waiters of each process at each condition variable.
const WAITERS: u64 = 2;

struct Game {
    client: Client,
    workers: Vec<Worker>,
    setup: Setup,
    redis: Redis,
    seed: Seed,
    round: u64,
    /// The number of lines `waits` and `woken` for each name.
    waits: BTreeMap<String, u64>,
    woken: BTreeMap<String, u64>,
    notified: u64,
    killed: u64,
    longest: Duration,
}

impl Game {
    fn open() -> Self {
        let redis = Redis::start();
        let mut setup = Setup::new(env!("CARGO_BIN_EXE_test-worker"), redis.url(), LONG);
        setup.options.push("store_timeout=60".to_owned());
        let config = Config::new(redis.url()).expect("a good URL");
        Self {
            client: Client::connect(config.namespace("suite").store_timeout("60s"))
                .expect("a client"),
            workers: (0..PROCESSES).map(|_| setup.start()).collect(),
            setup,
            redis,
            seed: Seed::announce("rounds"),
            round: 0,
            waits: BTreeMap::new(),
            woken: BTreeMap::new(),
            notified: 0,
            killed: 0,
            longest: Duration::ZERO,
        }
    }

    fn names(&self) -> Vec<String> {
        let name = |number| format!("r{}n{number}", self.round);
        (0..NAMES).map(name).collect()
    }

    fn listen(&mut self) {
        for worker in &self.workers {
            while let Some(line) = worker.overhear() {
                match line.split_once(' ') {
                    Some(("waits", name)) => *self.waits.entry(name.to_owned()).or_default() += 1,
                    Some(("woken", name)) => *self.woken.entry(name.to_owned()).or_default() += 1,
                    _ => panic!("a worker said {line:?}"),
                }
            }
        }
    }

    /// Makes all waiters wait. After its line `waits`, a waiter has the mutex until its place in the queue is certain.
    fn gather(&mut self) {
        for name in self.names() {
            for worker in &mut self.workers {
                (0..WAITERS).for_each(|_| worker.say(&format!("wait {name}")));
            }
        }
        for name in self.names() {
            eventually("all wait", || {
                self.listen();
                self.waits.get(&name) == Some(&(PROCESSES * WAITERS))
            });
            let mutex = self.client.mutex(&name);
            drop(mutex.blocking_lock().expect("the mutex"));
        }
    }

    /// One or two processes.
    fn victims(&mut self) -> Range<usize> {
        0..1 + self.seed.below(2) as usize
    }

    fn play(&mut self) {
        self.round += 1;
        self.gather();
        let victims = self.victims();
        self.workers[victims.clone()].iter().for_each(Worker::stop);
        let living = (PROCESSES - victims.len() as u64) * WAITERS;
        let mut expected = BTreeMap::new();
        for name in self.names() {
            let condvar = self.client.condvar(&name);
            let count = 1 + self.seed.below(living);
            for _ in 0..count {
                assert!(
                    condvar.blocking_notify_one().expect("an answer"),
                    "{name}: nobody waits"
                );
            }
            expected.insert(name, count);
        }
        let notified = Instant::now();
        std::thread::sleep(Duration::from_millis(self.seed.below(300)));
        let lives_on = self.seed.below(3) == 0;
        for victim in victims.rev() {
            if lives_on {
                self.workers[victim].cont();
            } else {
                self.workers.swap_remove(victim).kill9();
                self.killed += 1;
            }
        }
        for (name, count) in &expected {
            eventually("as many are woken as was said", || {
                self.listen();
                self.woken.get(name).is_some_and(|woken| woken >= count)
            });
        }
        self.longest = self.longest.max(notified.elapsed());
        self.notified += expected.values().sum::<u64>();
        assert!(
            expected
                .iter()
                .all(|(name, count)| self.woken[name] == *count),
            "{expected:?}, but {:?}",
            self.woken
        );
        self.finish();
    }

    /// Wakes the other waiters, and replaces the killed processes.
    fn finish(&mut self) {
        for name in self.names() {
            self.client
                .condvar(&name)
                .blocking_notify_all()
                .expect("an answer");
        }
        let waiters = self.workers.len() as u64 * WAITERS;
        for name in self.names() {
            eventually("the rest is woken", || {
                self.listen();
                self.woken.get(&name).is_some_and(|woken| *woken >= waiters)
            });
        }
        assert_eq!(self.redis.keys_without_ttl(), []);
        while self.workers.len() < PROCESSES as usize {
            self.workers.push(self.setup.start());
        }
    }
}

#[test]
fn as_many_wake_as_was_said_whoever_dies() {
    let _watch = real_time_for(duration(4));
    let mut game = Game::open();
    let until = Instant::now() + duration(4);
    while Instant::now() < until {
        game.play();
    }
    println!(
        "{} rounds, {} killed, {} notified and woken, the last after {:?}",
        game.round, game.killed, game.notified, game.longest
    );
}
