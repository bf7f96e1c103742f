//! Deadlocks of real processes, some of which die, are suspended, or lose their server.

use std::sync::Arc;
use std::time::{Duration, Instant};

use auto_mutex::{Client, Deadlock};
use auto_mutex_tests::redis::Redis;
use auto_mutex_tests::runtimes::multi_thread;
use auto_mutex_tests::stores::{TestStore, cluster, quorum, redis};
use auto_mutex_tests::worker::{Setup, Worker};
use tokio::sync::Barrier;

const LEASE: Duration = Duration::from_secs(2);

fn workers<const N: usize>(server: &Redis, options: &[&str]) -> [Worker; N] {
    let setup = Setup::new(env!("CARGO_BIN_EXE_test-worker"), server.url(), LEASE);
    let options = options.iter().map(|word| (*word).to_owned()).collect();
    let setup = Setup { options, ..setup };
    std::array::from_fn(|_| setup.start())
}

/// Makes each worker hold a lock and wait for the lock of the next worker.
fn cycle(workers: &mut [Worker]) {
    let count = workers.len();
    for (number, worker) in workers.iter_mut().enumerate() {
        worker.say(&format!("cross n{number} n{}", (number + 1) % count));
        worker.expect(&format!("inside n{number}"));
    }
    for worker in workers {
        worker.say("go");
    }
}

/// Returns the worker's report about its inner lock: whether the worker got it, and the whole line.
fn outcome(worker: &Worker) -> (bool, String) {
    let line = worker.hear().expect("it says something");
    assert!(
        line.starts_with("got ") || line.starts_with("failed "),
        "{line}"
    );
    (line.starts_with("got "), line)
}

#[test]
fn one_process_of_a_cycle_fails_and_names_all() {
    let server = Redis::start();
    let mut workers = workers::<4>(&server, &["deadlock=0.2"]);
    cycle(&mut workers);
    let outcomes: Vec<_> = workers.iter().map(outcome).collect();
    let failed: Vec<_> = outcomes.iter().filter(|(got, _)| !got).collect();
    let [(_, failed)] = &*failed else {
        panic!("{outcomes:?}");
    };
    for worker in &workers {
        assert!(failed.contains(&format!("{}@", worker.pid())), "{failed}");
        worker.expect("left");
    }
}

/// Runs a cycle of these clients. Returns how long after `deadlock_after` one of their calls fails.
async fn found_after(clients: &[Client], after: Duration) -> Duration {
    let all = Arc::new(Barrier::new(clients.len()));
    let (sender, mut failed) = tokio::sync::mpsc::unbounded_channel();
    for (number, client) in clients.iter().cloned().enumerate() {
        let next = format!("n{}", (number + 1) % clients.len());
        let (all, sender) = (all.clone(), sender.clone());
        tokio::spawn(async move {
            let body = async |_: &_| {
                all.wait().await;
                let begun = Instant::now();
                if client.mutex(&next).lock().await.is_err() {
                    let _ = sender.send(begun.elapsed());
                }
            };
            client
                .mutex(format!("n{number}"))
                .synchronize(body)
                .await
                .unwrap();
        });
    }
    drop(sender);
    let first = failed.recv().await.expect("a call fails");
    assert_eq!(failed.recv().await, None, "only one");
    first.saturating_sub(after)
}

#[test]
#[ignore = "measures, and says nothing is wrong: for docs/evidence.md"]
fn how_long_it_takes_to_find_a_deadlock() {
    const AFTER: Duration = Duration::from_millis(100);
    const ROUNDS: usize = 60;
    let stores: [(&str, Box<dyn TestStore>); 3] = [
        ("one server", Box::new(redis())),
        ("a cluster of three", Box::new(cluster())),
        ("a quorum of five", Box::new(quorum())),
    ];
    for (title, store) in stores {
        for hops in 2..=8 {
            let config = || {
                store
                    .config()
                    .deadlock(Deadlock::Fail)
                    .deadlock_after(AFTER)
            };
            let clients: Vec<_> = (0..hops)
                .map(|_| Client::connect(config()).unwrap())
                .collect();
            let mut times: Vec<_> = (0..ROUNDS)
                .map(|_| multi_thread().block_on(found_after(&clients, AFTER)))
                .collect();
            times.sort();
            let (median, late) = (times[ROUNDS / 2], times[ROUNDS * 99 / 100]);
            println!("{title}, {hops} hops: p50 {median:.1?}, p99 {late:.1?}");
        }
    }
}
