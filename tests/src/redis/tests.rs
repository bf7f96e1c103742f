//! The server of the rig, tried alone.

use std::time::{Duration, Instant};

use super::{Options, Redis};
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
            options.persistent()
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
    redis.keep_busy(Duration::from_millis(300));
    assert!(connection.try_call(&["PING"]).is_err());
    while connection.try_call(&["PING"]).is_err() {}
    assert!(started.elapsed() >= Duration::from_millis(250));
}

#[test]
fn its_keys_are_seen_with_their_ttl() {
    let redis = Redis::start();
    redis.command(&[
        "SET",
        "auto_mutex:{a}",
        "1 s 5 5 9999999999999999 t 1000 1000 1 1 1 m h 1 s",
    ]);
    redis.command(&["SET", "auto_mutex:{b}", "1 f 5 1 1 5 1 0"]);
    redis.command(&["SET", "auto_mutex:{b}:gone", "1", "PX", "60000"]);
    redis.command(&[
        "ZADD",
        "auto_mutex:{b}:held",
        "9999999999999999",
        "u",
        "1",
        "ended",
    ]);
    redis.command(&["ZADD", "auto_mutex:{b}:waits", "9999999999999999", "v"]);
    redis.command(&["HSET", "auto_mutex:{b}:tickets", "u", "", "v", ""]);
    redis.command(&["SET", "other", "1"]);
    assert_eq!(redis.keys().len(), 6);
    assert_eq!(redis.keys_without_ttl().len(), 5);
    assert_eq!((redis.held(), redis.waiting()), (2, 1));
    assert_eq!(redis.tickets("a"), ["t"]);
    assert_eq!(redis.tickets("b"), ["u", "v"]);
    assert_eq!(redis.calls("zadd"), 2);
}
