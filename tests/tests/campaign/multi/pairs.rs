//! Many random pairs of names within one process, taken by tasks and threads of several members.
//!
//! `AUTO_MUTEX_CAMPAIGN_PAIRS` sets the number of pairs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use auto_mutex::{Client, Config, MultiLock};
use auto_mutex_tests::events::{eventually, soon};
use auto_mutex_tests::runtimes::multi_thread;
use auto_mutex_tests::seed::Seed;

const NAMES: usize = 50;
const MEMBERS: usize = 4;
const TASKS: usize = 8;
const THREADS: usize = 2;

/// The resources that the names protect.
struct Shop {
    taken: [AtomicBool; NAMES],
    pairs: AtomicU64,
    goal: u64,
    overlaps: AtomicU64,
}

impl Shop {
    fn is_over(&self) -> bool {
        self.pairs.load(Ordering::SeqCst) >= self.goal
    }

    /// Uses the resources of both names.
    fn visit(&self, pair: [usize; 2]) {
        for name in pair {
            if self.taken[name].swap(true, Ordering::SeqCst) {
                self.overlaps.fetch_add(1, Ordering::SeqCst);
            }
        }
        self.pairs.fetch_add(1, Ordering::SeqCst);
    }

    fn leave(&self, pair: [usize; 2]) {
        for name in pair {
            self.taken[name].store(false, Ordering::SeqCst);
        }
    }
}

/// Two different names in any order.
fn pair(seed: &mut Seed) -> [usize; 2] {
    let names = NAMES as u64;
    let first = seed.below(names);
    [first, (first + 1 + seed.below(names - 1)) % names].map(|name| name as usize)
}

fn lock(client: &Client, pair: [usize; 2]) -> MultiLock {
    client.multi(pair.map(|name| format!("p{name}")))
}

async fn task(client: Client, shop: Arc<Shop>, mut seed: Seed) {
    while !shop.is_over() {
        let pair = pair(&mut seed);
        let guard = lock(&client, pair).lock().await.expect("both");
        shop.visit(pair);
        // Gives the other tasks a chance to see an overlap.
        tokio::task::yield_now().await;
        shop.leave(pair);
        drop(guard);
    }
}

fn thread(client: &Client, shop: &Shop, mut seed: Seed) {
    while !shop.is_over() {
        let pair = pair(&mut seed);
        let guard = lock(client, pair).blocking_lock().expect("both");
        shop.visit(pair);
        std::thread::yield_now();
        shop.leave(pair);
        drop(guard);
    }
}

#[test]
fn random_pairs_never_close_a_cycle() {
    let goal = std::env::var("AUTO_MUTEX_CAMPAIGN_PAIRS");
    let goal = goal.ok().and_then(|goal| goal.parse().ok());
    let shop = Arc::new(Shop {
        taken: [const { AtomicBool::new(false) }; NAMES],
        pairs: AtomicU64::new(0),
        goal: goal.unwrap_or(3_000),
        overlaps: AtomicU64::new(0),
    });
    let mut seed = Seed::announce("pairs");
    let runtime = multi_thread();
    let started = Instant::now();
    let (mut tasks, mut threads) = (Vec::new(), Vec::new());
    for _ in 0..MEMBERS {
        let config = Config::new("memory://pairs").expect("a good URL");
        let client = Client::connect(config).expect("a client");
        for _ in 0..TASKS {
            let seed = Seed::new(seed.below(u64::MAX));
            tasks.push(runtime.spawn(task(client.clone(), shop.clone(), seed)));
        }
        for _ in 0..THREADS {
            let (client, shop, seed) = (client.clone(), shop.clone(), seed.below(u64::MAX));
            let visits = move || thread(&client, &shop, Seed::new(seed));
            threads.push(std::thread::spawn(visits));
        }
    }
    while !shop.is_over() {
        let before = shop.pairs.load(Ordering::SeqCst);
        eventually("somebody gets on", || {
            shop.is_over() || shop.pairs.load(Ordering::SeqCst) > before
        });
    }
    let took = started.elapsed();
    for task in tasks {
        let ended = runtime.block_on(soon("a task ends", task));
        ended.expect("no error");
    }
    for thread in threads {
        eventually("a thread ends", || thread.is_finished());
        thread.join().expect("no error");
    }
    assert_eq!(
        shop.overlaps.load(Ordering::SeqCst),
        0,
        "two at the same name"
    );
    println!("{} pairs in {took:?}", shop.goal);
}
