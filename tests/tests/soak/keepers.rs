//! [`Keepers`]: locks that are held for many leases, and a thread that watches their renewals. It asks the store how much
//! of each lease is left.
//!
//! A lease is renewed every third of its length, so two thirds of it are left at any time, minus the delay of the
//! renewal.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use auto_mutex::{Client, Config};
use auto_mutex_tests::redis::Redis;
use auto_mutex_tests::worker::{Setup, Worker};

use super::LEASE;

/// The number of locks that each of two processes holds.
const LOCKS: usize = 8;
/// The pause between two looks at all locks.
const PACE: Duration = Duration::from_millis(40);

pub(crate) struct Keepers {
    _workers: Vec<Worker>,
    /// The shortest time that was left of any lease since the last call of `shortest`, in microseconds.
    shortest: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
    looking: JoinHandle<()>,
}

impl Keepers {
    pub(crate) fn start(redis: &Redis) -> Self {
        let setup = Setup::new(env!("CARGO_BIN_EXE_test-worker"), redis.url(), LEASE);
        let mut workers: Vec<_> = (0..2).map(|_| setup.start()).collect();
        let mut names = Vec::new();
        for (number, worker) in workers.iter_mut().enumerate() {
            for index in 0..LOCKS {
                let name = format!("kept-{number}-{index}");
                worker.lock(&name);
                names.push(name);
            }
        }
        let config = Config::new(redis.url()).expect("a good URL");
        let client = Client::connect(config.namespace("suite")).expect("an observer");
        let shortest = Arc::new(AtomicU64::new(u64::MAX));
        let over = Arc::new(AtomicBool::new(false));
        let looking = thread::spawn({
            let (shortest, over) = (shortest.clone(), over.clone());
            move || look(&client, &names, &shortest, &over)
        });
        Self {
            _workers: workers,
            shortest,
            over,
            looking,
        }
    }

    /// The shortest time that was left of any lease, at any look since the last call.
    pub(crate) fn shortest(&self) -> Duration {
        assert!(!self.looking.is_finished(), "a lock was lost");
        let micros = self.shortest.swap(u64::MAX, Ordering::Relaxed);
        Duration::from_micros(micros).min(LEASE)
    }

    pub(crate) fn stop(self) {
        self.over.store(true, Ordering::Relaxed);
        self.looking.join().expect("all locks were kept");
    }
}

fn look(client: &Client, names: &[String], shortest: &AtomicU64, over: &AtomicBool) {
    let mutexes: Vec<_> = names.iter().map(|name| client.mutex(name)).collect();
    while !over.load(Ordering::Relaxed) {
        for mutex in &mutexes {
            let info = mutex.blocking_info().expect("an answer");
            let left = info.expires_in.expect("it is held");
            let micros = u64::try_from(left.as_micros()).unwrap_or(u64::MAX);
            shortest.fetch_min(micros, Ordering::Relaxed);
        }
        thread::sleep(PACE);
    }
}
