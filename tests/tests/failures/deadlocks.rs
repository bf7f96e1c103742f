//! A deadlock of real processes.

use auto_mutex_tests::events::LONG;
use auto_mutex_tests::redis::Redis;
use auto_mutex_tests::worker::{Setup, Worker};

fn workers<const N: usize>(server: &Redis, options: &[&str]) -> [Worker; N] {
    let setup = Setup::new(env!("CARGO_BIN_EXE_test-worker"), server.url(), LONG);
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
