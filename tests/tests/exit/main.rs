//! The end of a process: dropped locks are released, and held locks soon become free.

mod abort;
mod draining;
mod forks;
mod process_1;

use std::os::unix::process::ExitStatusExt as _;
use std::time::Duration;

use auto_mutex::{Client, Config};
use auto_mutex_tests::events::{LONG, eventually, finishes};
use auto_mutex_tests::process;
use auto_mutex_tests::real_time::real_time;
use auto_mutex_tests::redis::{Key, Redis};
use auto_mutex_tests::worker::Setup;

fn setup(redis: &Redis, lease: Duration) -> Setup {
    Setup::new(env!("CARGO_BIN_EXE_test-worker"), redis.url(), lease)
}

/// Waits until the store knows of the releases: after the end of a lease, the state of a lock still names its holder.
#[track_caller]
fn is_released(redis: &Redis) {
    let state = |key: Key| redis.command(&["GET", &key.name]).text().to_owned();
    eventually("all is released", || {
        let keys = redis.keys().into_iter().filter(Key::is_token);
        let states: Vec<_> = keys.map(state).collect();
        !states.is_empty() && states.iter().all(|state| state.starts_with("3 i "))
    });
}

fn client(redis: &Redis) -> Client {
    let config = Config::new(redis.url()).unwrap().namespace("suite");
    Client::connect(config.lease(LONG).connect_timeout("60s")).unwrap()
}

#[test]
fn returning_right_after_a_drop_loses_no_release() {
    let redis = Redis::start();
    for round in 0..20 {
        let mut worker = setup(&redis, LONG).start();
        worker.say("finish m");
        worker.got("m");
        assert!(worker.ended().success(), "round {round}");
        is_released(&redis);
    }
}

#[test]
fn what_is_only_kept_is_free_when_the_process_has_ended() {
    let redis = Redis::start();
    for end in ["exit", "return", "drain 60", "terminate"] {
        let mut setup = setup(&redis, LONG);
        setup.options.push("retain=600".to_owned());
        let mut worker = setup.start();
        worker.say("termination 60");
        worker.expect("ok");
        for name in ["m", "other"] {
            worker.lock(name);
            worker.say(&format!("unlock {name}"));
            worker.expect(&format!("unlocked {name} true"));
        }
        match end {
            "terminate" => process::terminate(worker.pid()),
            end => worker.say(end),
        }
        match end {
            "drain 60" => drop(worker.expect("drained true")),
            _ => drop(worker.ended()),
        }
        eventually(end, || redis.held() == 0);
    }
}

/// The `fmt` subscriber needs thread-locals, which the exiting thread has destroyed before the library releases the
/// locks. Even a panic that the library would catch ends the process.
#[test]
fn exit_releases_when_a_subscriber_is_installed() {
    let redis = Redis::start();
    for end in ["exit", "return"] {
        let mut worker = setup(&redis, LONG).start();
        for line in ["log", "brittle"] {
            worker.say(line);
            worker.expect("ok");
        }
        worker.lock("m");
        worker.lock("other");
        worker.say(end);
        let status = worker.ended();
        assert!(status.success(), "{end}: {status}");
        is_released(&redis);
    }
}

#[test]
fn exit_is_not_held_up_by_a_store_that_is_gone() {
    let redis = Redis::start();
    // The store timeout is longer than the test waits for the end of the process.
    let mut setup = setup(&redis, LONG);
    setup.options.push("store_timeout=600".to_owned());
    let mut worker = setup.start();
    worker.lock("m");
    redis.stop();
    worker.say("exit");
    worker.ended();
    redis.cont();
}

/// (With the opt-in, its locks are released: see `draining`.)
#[test]
fn without_the_opt_in_signals_are_not_touched() {
    let redis = Redis::start();
    let mut worker = setup(&redis, LONG).start();
    worker.lock("m");
    process::terminate(worker.pid());
    let status = worker.ended();
    assert_eq!(status.signal(), Some(15), "the default action follows");
    assert_eq!(redis.held(), 1);
}

/// (So is the end of a process that is killed: see `failures`.)
#[test]
fn abort_is_the_leases_business() {
    let _watch = real_time();
    let lease = Duration::from_secs(2);
    let redis = Redis::start();
    let client = client(&redis);
    let mut worker = setup(&redis, lease).start();
    worker.lock("m");
    worker.say("abort");
    worker.ended();
    let mutex = client.mutex("m");
    let left = mutex.blocking_info().unwrap().expires_in;
    assert!(left.is_none_or(|left| left <= lease), "{left:?}");
    let guard = finishes("the next one", move || mutex.blocking_lock()).unwrap();
    drop(guard);
    eventually("it is free again", || redis.held() == 0);
}
