//! Tests of the rig's server.

use std::time::{Duration, Instant};

use auto_mutex::{Client, Config};

use super::{Options, Redis};
use crate::events::eventually;
use crate::resp::Connection;

#[test]
fn it_starts_over_tcp_and_unix_and_ends_with_its_owner() {
    let redis = Redis::start();
    assert_eq!(redis.command(&["PING"]).text(), "PONG");
    let mut unix = Connection::unix(&redis.socket()).unwrap();
    assert_eq!(unix.call(&["PING"]).text(), "PONG");
    let port = redis.port();
    drop(redis);
    assert!(Connection::tcp(port).is_err());
}

#[test]
fn a_panicking_owner_ends_it_too() {
    let (sender, port) = std::sync::mpsc::channel();
    let owner = std::thread::spawn(move || {
        let redis = Redis::start();
        sender.send(redis.port()).unwrap();
        panic!("meant");
    });
    assert!(owner.join().is_err());
    assert!(Connection::tcp(port.recv().unwrap()).is_err());
}

#[test]
fn only_a_persistent_one_comes_back_with_its_data() {
    for persistent in [false, true] {
        let options = Options::default().password("secret");
        let redis = Redis::with(if persistent {
            options.survives_kills()
        } else {
            options
        });
        redis.command(&["SET", "key", "value"]);
        redis.restart();
        let found = redis.command(&["EXISTS", "key"]).int() == 1;
        assert_eq!(found, persistent);
    }
}

#[test]
fn it_is_suspended_and_goes_on() {
    let redis = Redis::start();
    let mut connection = redis.connect();
    redis.stop();
    connection.send(&["PING"]).unwrap();
    redis.cont();
    assert_eq!(connection.receive().unwrap().text(), "PONG");
}

#[test]
fn it_is_kept_busy_for_a_while() {
    let redis = Redis::start();
    let mut connection = redis.connect();
    let started = Instant::now();
    // `keep_busy` has seen the server busy, but the script may have ended since.
    redis.keep_busy(Duration::from_millis(300));
    while connection.try_call(&["PING"]).is_err() {}
    assert!(started.elapsed() >= Duration::from_millis(250));
}

#[test]
fn its_keys_are_seen_with_their_ttl() {
    let redis = Redis::start();
    redis.command(&["SET", "auto_mutex:{a}", "1"]);
    redis.command(&["SET", "auto_mutex:{a}:gone", "1", "PX", "60000"]);
    redis.command(&["ZADD", "auto_mutex:{a}:held", "1", "ticket"]);
    redis.command(&["SET", "other", "1"]);
    assert_eq!(redis.keys().len(), 3);
    assert_eq!(redis.keys_without_ttl().len(), 2);
    assert_eq!(redis.calls("zadd"), 1);
}

#[test]
fn its_holders_waiters_and_tickets_are_seen() {
    let redis = Redis::start();
    let connect = || Client::connect(Config::new(redis.url()).unwrap().namespace("suite")).unwrap();
    let (holder, waiter) = (connect(), connect());
    assert_eq!((redis.held(), redis.waiting()), (0, 0));
    let guard = holder.mutex("m").blocking_lock().unwrap();
    assert_eq!((redis.held(), redis.waiting()), (1, 0));
    assert_eq!(redis.tickets("suite:m").len(), 1);
    let thread = std::thread::spawn(move || waiter.mutex("m").blocking_lock().map(drop));
    eventually("it waits", || redis.waiting() == 1);
    assert_eq!(redis.tickets("suite:m").len(), 2);
    // `waiting` asks with another client, whose member leaves a moment later.
    eventually("they are two again", || redis.members() == 2);
    drop(guard);
    thread.join().unwrap().unwrap();
    eventually("all is over", || redis.held() == 0 && redis.waiting() == 0);
}
