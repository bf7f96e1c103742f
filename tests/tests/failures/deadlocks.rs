//! Deadlocks of real processes, some of which die, stand still, or lose their server.

use std::time::Duration;

use auto_mutex_tests::redis::Redis;
use auto_mutex_tests::worker::{Setup, Worker};

const LEASE: Duration = Duration::from_secs(2);

fn workers<const N: usize>(server: &Redis, options: &[&str]) -> [Worker; N] {
    let setup = Setup::new(env!("CARGO_BIN_EXE_test-worker"), server.url(), LEASE);
    let options = options.iter().map(|word| (*word).to_owned()).collect();
    let setup = Setup { options, ..setup };
    std::array::from_fn(|_| setup.start())
}

/// Each worker holds a lock, and waits for that of the next one.
fn circle(workers: &mut [Worker]) {
    let count = workers.len();
    for (number, worker) in workers.iter_mut().enumerate() {
        worker.say(&format!("nest n{number} n{}", (number + 1) % count));
        worker.expect(&format!("inside n{number}"));
    }
    for worker in workers {
        worker.say("go");
    }
}

/// What the worker says of the inner lock: whether it got it, and the whole line.
fn outcome(worker: &Worker) -> (bool, String) {
    let line = worker.hear().expect("it says something");
    assert!(
        line.starts_with("got ") || line.starts_with("failed "),
        "{line}"
    );
    (line.starts_with("got "), line)
}

#[test]
fn one_process_of_a_circle_fails_and_names_all() {
    let server = Redis::start();
    let mut workers = workers::<4>(&server, &["deadlock=0.2"]);
    circle(&mut workers);
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

/// The dead one's lock is free when its lease ends; nobody needs to fail for that, but one may.
#[test]
fn a_dead_process_breaks_the_circle() {
    let server = Redis::start();
    let mut workers = workers::<3>(&server, &["deadlock=30"]);
    circle(&mut workers);
    let [mut first, second, third] = workers;
    first.kill9();
    // The third waits for the lock of the dead one, and the second for that of the third.
    for worker in [&third, &second] {
        let (got, line) = outcome(worker);
        assert!(got, "{line}");
        worker.expect("left");
    }
}

/// A process that stands still answers nothing: it is no part of a deadlock, and its lock ends with its lease.
#[test]
fn a_silent_process_is_not_taken_for_a_part() {
    let server = Redis::start();
    let mut workers = workers::<2>(&server, &["deadlock=0.2"]);
    for (number, worker) in workers.iter_mut().enumerate() {
        worker.say(&format!("nest n{number} n{}", 1 - number));
        worker.expect(&format!("inside n{number}"));
    }
    let [mut first, mut second] = workers;
    // It holds its lock and never gets to wait for the other.
    second.stop();
    first.say("go");
    let (got, line) = outcome(&first);
    assert!(got, "{line}");
    first.expect("left");
    second.cont();
    second.say("go");
    let line = second.hear().expect("it says something");
    assert!(
        line.starts_with("failed n1 Lost") || line.starts_with("got n0"),
        "{line}"
    );
}

#[test]
fn a_deadlock_outlives_a_restart_of_the_server() {
    let server = Redis::start();
    let mut workers = workers::<2>(&server, &["deadlock=3"]);
    circle(&mut workers);
    server.save();
    server.restart();
    let outcomes: Vec<_> = workers.iter().map(outcome).collect();
    let got = outcomes.iter().filter(|(got, _)| *got).count();
    assert!(got >= 1, "{outcomes:?}");
    for (got, line) in &outcomes {
        assert!(
            *got || line.contains("deadlock: ") || line.contains("lost"),
            "{line}"
        );
    }
}
