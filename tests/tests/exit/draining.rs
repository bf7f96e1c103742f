//! A process that receives a signal to end lets its bodies end first.

use std::os::unix::process::ExitStatusExt as _;

use auto_mutex_tests::events::{LONG, eventually, finishes};
use auto_mutex_tests::process;
use auto_mutex_tests::redis::Redis;

use crate::{client, is_released, setup};

#[test]
fn sigterm_waits_for_the_body_and_then_ends_the_process() {
    let redis = Redis::start();
    let other = client(&redis);
    for termination in ["termination", "termination 600"] {
        let mut worker = setup(&redis, LONG).start();
        worker.say(termination);
        worker.expect("ok");
        worker.lock("m");
        // A second call of the same process, and a call of another process.
        worker.say("lock m");
        let mutex = other.mutex("m");
        let next = std::thread::spawn(move || mutex.blocking_lock());
        let observer = other.mutex("m");
        eventually("both wait", || {
            observer.blocking_info().unwrap().waiters.len() == 2
        });
        process::terminate(worker.pid());
        let refused = worker.expect("failed m ");
        assert!(refused[0].starts_with("ShutDown"), "{refused:?}");
        // The process is alive, and its body still holds the lock.
        worker.say("check m");
        worker.expect("held m");
        assert!(!next.is_finished());
        worker.say("drop m");
        let status = worker.ended();
        assert_eq!(status.signal(), Some(15), "the default action follows");
        let guard = finishes("the next one", move || next.join().unwrap()).unwrap();
        assert!(guard.blocking_unlock().unwrap());
    }
}

#[test]
fn a_second_signal_ends_the_process_at_once() {
    let redis = Redis::start();
    let mut worker = setup(&redis, LONG).start();
    worker.say("termination 600");
    worker.expect("ok");
    worker.lock("m");
    worker.say("lock m");
    eventually("it waits", || redis.waiting() == 1);
    process::terminate(worker.pid());
    worker.expect("failed m ");
    process::terminate(worker.pid());
    assert_eq!(worker.ended().signal(), Some(15));
    is_released(&redis);
}

#[test]
fn a_body_that_does_not_end_keeps_no_process_alive() {
    let redis = Redis::start();
    let mut worker = setup(&redis, LONG).start();
    worker.say("termination 0.05");
    worker.expect("ok");
    worker.lock("m");
    process::terminate(worker.pid());
    assert_eq!(worker.ended().signal(), Some(15));
    is_released(&redis);
}

#[test]
fn another_process_goes_on_as_soon_as_the_body_has_ended() {
    let redis = Redis::start();
    let (mut drains, mut next) = (setup(&redis, LONG).start(), setup(&redis, LONG).start());
    drains.lock("m");
    drains.lock("other");
    next.say("lock m");
    eventually("it waits", || redis.waiting() == 1);
    drains.say("drain 600");
    // Waits until new locks are refused.
    loop {
        drains.say("try free");
        let line = drains.hear().expect("it lives");
        if line.starts_with("failed free ShutDown") {
            break;
        }
        if line.starts_with("got free") {
            drains.say("drop free");
            drains.expect("dropped free");
        }
    }
    drains.say("drop m");
    drains.expect("dropped m");
    // The lock is granted long before the end of the drain and of the lease, while the first process still holds the
    // other lock.
    next.expect("got m ");
    drains.say("check other");
    drains.expect("held other");
    drains.say("drop other");
    // Two tasks of the worker write these lines.
    let mut said: Vec<_> = (0..2).filter_map(|_| drains.hear()).collect();
    said.sort();
    assert_eq!(said, ["drained true", "dropped other"]);
    drains.say("return");
    assert!(drains.ended().success());
}
