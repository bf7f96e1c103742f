//! A rolling restart: fifty processes that hold and wait are replaced, ten at a time. No remaining process loses its
//! place.

use std::collections::BTreeSet;

use auto_mutex::{Client, Config};
use auto_mutex_tests::events::{LONG, eventually};
use auto_mutex_tests::real_time::real_time;
use auto_mutex_tests::redis::Redis;
use auto_mutex_tests::worker::{Setup, Worker};

const PROCESSES: usize = 50;
/// The number of names, with a queue of five processes for each.
const NAMES: usize = 10;

/// Each process holds or waits for one of the names. A process that is suspended for two seconds may be overtaken, so
/// the order within a queue is for other tests.
struct Queues {
    workers: Vec<Worker>,
    setup: Setup,
    observer: Client,
}

impl Queues {
    fn start(redis: &Redis) -> Self {
        let config = Config::new(redis.url()).expect("a good URL");
        let config = config.namespace("suite").lease(LONG).longest_lease(LONG);
        let config = config.store_timeout("60s");
        let mut setup = Setup::new(env!("CARGO_BIN_EXE_test-worker"), redis.url(), LONG);
        setup.options.push("store_timeout=60".to_owned());
        let mut queues = Self {
            workers: (0..PROCESSES).map(|_| setup.launch()).collect(),
            setup,
            observer: Client::connect(config.restart_guard(false)).expect("a client"),
        };
        (0..PROCESSES).for_each(|worker| queues.join(worker));
        (0..NAMES).for_each(|name| drop(queues.settled(name, &BTreeSet::new())));
        queues
    }

    /// Waits for a process that has just been started. The process takes a lock that nobody else wants, and then joins
    /// the queue of its name.
    fn join(&mut self, worker: usize) {
        self.workers[worker].ready();
        let pid = self.workers[worker].pid();
        self.workers[worker].lock(&format!("own-{pid}"));
        self.workers[worker].say(&format!("lock shared-{}", worker % NAMES));
    }

    /// Waits until the store has all processes of this name, one of which holds. Those in `staying` are never
    /// missing. Returns the processes as the store has them, the holder first.
    fn settled(&self, name: usize, staying: &BTreeSet<u32>) -> Vec<u32> {
        let pids = self.workers.iter().skip(name).step_by(NAMES);
        let expected: BTreeSet<_> = pids.map(Worker::pid).collect();
        let mutex = self.observer.mutex(format!("shared-{name}"));
        let mut found = Vec::new();
        eventually("the queue has all processes and a holder", || {
            let info = mutex.blocking_info().expect("the store answers");
            let holders: Vec<_> = info.holders.iter().map(|holder| holder.pid).collect();
            let waiters = info.waiters.iter().map(|waiter| waiter.pid);
            // A killed waiter may keep its place for a lease.
            found = holders.iter().copied().chain(waiters).collect();
            found.retain(|pid| expected.contains(pid));
            let missing = staying.iter().find(|pid| !found.contains(pid));
            assert_eq!(missing, None, "shared-{name}: {found:?}");
            found.len() == expected.len() && found.starts_with(&holders) && holders.len() == 1
        });
        found
    }

    /// Ends the first waiter and the holder of a name, and starts others in their places. A holder that is killed would
    /// keep its lock for a lease, so only a waiter is, before the lock could be granted to it.
    fn replace(&mut self, wave: usize, name: usize) -> (Vec<usize>, BTreeSet<u32>) {
        let queue = self.settled(name, &BTreeSet::new());
        let (leaving, staying) = queue.split_at(2);
        let index = |pid: &u32| self.workers.iter().position(|it| it.pid() == *pid);
        let leaving: Vec<_> = leaving.iter().filter_map(index).collect();
        for (place, &worker) in leaving.iter().enumerate().rev() {
            match (wave + name + place) % 3 {
                0 if place > 0 => self.workers[worker].kill9(),
                1 => self.workers[worker].say("return"),
                _ => self.workers[worker].say("exit"),
            }
            self.workers[worker].ended();
            self.workers[worker] = self.setup.launch();
        }
        (leaving, staying.iter().copied().collect())
    }
}

#[test]
fn a_rolling_restart_costs_nobody_a_place() {
    let _watch = real_time();
    let redis = Redis::start();
    let mut queues = Queues::start(&redis);
    for wave in 0..4 {
        let names: Vec<_> = (0..NAMES).filter(|name| name % 2 == wave % 2).collect();
        let waves: Vec<_> = names
            .iter()
            .map(|name| queues.replace(wave, *name))
            .collect();
        for ((leaving, staying), name) in waves.into_iter().zip(names) {
            leaving.into_iter().for_each(|worker| queues.join(worker));
            queues.settled(name, &staying);
        }
    }
}
