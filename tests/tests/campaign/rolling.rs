//! A rolling restart: a hundred processes that hold and wait are replaced, ten at a time. No remaining process loses its place.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use auto_mutex::{Client, Config};
use auto_mutex_tests::events::{PATIENCE, happens_within};
use auto_mutex_tests::redis::Redis;
use auto_mutex_tests::stalls::despite_stalls;
use auto_mutex_tests::worker::{Setup, Worker};

use crate::arena::alone;

const PROCESSES: usize = 100;
/// The number of names, with a queue of ten processes for each.
const NAMES: usize = 10;
/// The lease. It is longer than a busy machine may deny a process CPU time: a process that sends nothing for a lease loses
/// its place.
const LEASE: Duration = Duration::from_secs(10);
/// The longest time without a grant in a queue: the rest of the holder's lease, the two seconds that a dead waiter may
/// cost, the next touch of the waiter behind it, and the delay of a slow machine.
const LONGEST: Duration = Duration::from_secs(22);

/// The processes, and the queue of each name: its holder comes first, then its waiters.
struct Queues {
    queues: Vec<VecDeque<usize>>,
    workers: Vec<Worker>,
    setup: Setup,
    observer: Client,
}

impl Queues {
    fn start(redis: &Redis) -> Self {
        let config = Config::new(redis.url()).expect("a good URL");
        let config = config.namespace("suite").lease(LEASE).longest_lease(LEASE);
        let mut queues = Self {
            queues: vec![VecDeque::new(); NAMES],
            workers: Vec::new(),
            setup: Setup::new(env!("CARGO_BIN_EXE_test-worker"), redis.url(), LEASE),
            observer: Client::connect(config.restart_guard(false)).expect("a client"),
        };
        queues.workers = (0..PROCESSES).map(|_| queues.setup.launch()).collect();
        for worker in 0..PROCESSES {
            queues.join(worker);
        }
        queues
    }

    /// Waits for a process that has just been started. The process takes its own lock, and then joins the queue of its
    /// name.
    fn join(&mut self, worker: usize) {
        let name = worker % NAMES;
        self.workers[worker].ready();
        self.workers[worker].lock(&format!("own-{worker}"));
        self.workers[worker].say(&format!("lock shared-{name}"));
        self.queues[name].push_back(worker);
        self.is_in_order(name, 1);
        if self.queues[name].len() == 1 {
            self.has(worker);
        }
    }

    fn has(&self, worker: usize) {
        self.workers[worker].got(&format!("shared-{}", worker % NAMES));
    }

    /// Waits until the store has exactly the expected queue, with the first process as the holder. All processes except
    /// the last `joining` ones are already in the queue, and must never be missing or change their order.
    fn is_in_order(&self, name: usize, joining: usize) {
        let pids = |queue: &VecDeque<usize>| -> Vec<_> {
            queue.iter().map(|it| self.workers[*it].pid()).collect()
        };
        let expected = pids(&self.queues[name]);
        let settled = &expected[..expected.len() - joining];
        let mutex = self.observer.mutex(format!("shared-{name}"));
        let mut found = Vec::new();
        let mut disorder = false;
        let in_order = happens_within(PATIENCE, || {
            let info = mutex.blocking_info().expect("the store answers");
            let holders = info.holders.iter().map(|holder| holder.pid);
            let waiters = info.waiters.iter().map(|waiter| waiter.pid);
            found = holders.chain(waiters).collect();
            // The filter skips killed processes, which may still be in the queue.
            let remaining = found.iter().filter(|pid| settled.contains(pid));
            disorder = !remaining.eq(settled);
            disorder || (found == expected && info.holders.len() == 1)
        });
        assert!(
            in_order && !disorder,
            "shared-{name}: {found:?}, should be {expected:?}"
        );
    }

    /// Ends a process in one of three ways, and starts another in its place.
    fn replace(&mut self, wave: usize, worker: usize) {
        let name = worker % NAMES;
        let leaving = &mut self.workers[worker];
        match (wave + name) % 3 {
            0 => leaving.kill9(),
            1 => leaving.say("return"),
            _ => leaving.say("exit"),
        }
        leaving.ended();
        self.queues[name].retain(|it| *it != worker);
        self.workers[worker] = self.setup.launch();
    }

    /// Replaces the holders and the first waiters of five queues. Returns the longest time without a grant in a queue.
    fn wave(&mut self, wave: usize) -> Duration {
        let names: Vec<_> = (0..NAMES).filter(|name| name % 2 == wave % 2).collect();
        let leaving: Vec<_> = names
            .iter()
            .flat_map(|name| self.queues[*name].iter().take(2).copied())
            .collect();
        let began = Instant::now();
        for worker in &leaving {
            self.replace(wave, *worker);
        }
        for name in &names {
            self.is_in_order(*name, 0);
            self.has(self.queues[*name][0]);
        }
        let still = began.elapsed();
        for worker in leaving {
            self.join(worker);
        }
        still
    }
}

#[test]
fn a_rolling_restart_of_a_hundred_processes_costs_nobody_a_place() {
    let _alone = alone();
    despite_stalls(|| {
        let redis = Redis::start();
        let mut queues = Queues::start(&redis);
        let still: Vec<_> = (0..PROCESSES / NAMES)
            .map(|wave| queues.wave(wave))
            .collect();
        eprintln!("the longest times without a grant: {still:?}");
        for (wave, still) in still.iter().enumerate() {
            assert!(
                *still < LONGEST,
                "wave {wave}: no grant in a queue for {still:?}"
            );
        }
    });
}
