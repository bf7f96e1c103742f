//! Tests of the proxy, in front of a server.

use super::Proxy;
use crate::redis::Redis;
use crate::resp::Connection;

fn through(proxy: &Proxy) -> Connection {
    Connection::tcp(proxy.port()).unwrap()
}

fn rig() -> (Redis, Proxy) {
    let redis = Redis::start();
    let proxy = Proxy::start(redis.port());
    (redis, proxy)
}

#[test]
fn a_lost_reply_was_executed_and_a_lost_request_was_not() {
    let (redis, proxy) = rig();
    let mut first = through(&proxy);
    proxy.lose_reply_after(2);
    assert!(first.try_call(&["INCR", "a"]).is_err());
    let mut second = through(&proxy);
    proxy.lose_request();
    assert!(second.try_call(&["INCR", "a"]).is_err());
    assert_eq!(redis.command(&["GET", "a"]).int(), 1);
    assert_eq!(through(&proxy).call(&["INCR", "a"]).int(), 2);
}

#[test]
fn a_request_of_a_frozen_connection_arrives_late_and_others_pass() {
    let (redis, proxy) = rig();
    let mut old = through(&proxy);
    old.call(&["PING"]);
    proxy.freeze_existing();
    old.send(&["INCR", "a"]).unwrap();
    drop(old);
    assert_eq!(through(&proxy).call(&["INCR", "b"]).int(), 1);
    assert_eq!(redis.command(&["EXISTS", "a"]).int(), 0);
    proxy.thaw();
    crate::events::eventually("the late request is executed", || {
        redis.command(&["EXISTS", "a"]).int() == 1
    });
}

#[test]
fn a_reply_is_cut_or_frozen_at_any_byte() {
    let (_redis, proxy) = rig();
    let reply = "$5\r\nhello\r\n";
    through(&proxy).call(&["ECHO", "hello"]);
    assert_eq!(proxy.longest_reply(), reply.len());
    for at in 0..reply.len() {
        let mut connection = through(&proxy);
        proxy.freeze_reply_at(at);
        connection.send(&["ECHO", "hello"]).unwrap();
        crate::events::eventually("it is frozen", || !proxy.is_armed());
        proxy.thaw();
        assert_eq!(connection.receive().unwrap().text(), "hello");
        proxy.cut_reply_at(at);
        assert!(connection.try_call(&["ECHO", "hello"]).is_err());
        assert!(!proxy.is_armed());
    }
    proxy.cut_reply_at(reply.len());
    through(&proxy).call(&["ECHO", "hello"]);
    assert!(proxy.is_armed());
}

#[test]
fn a_half_open_connection_never_comes_back() {
    let (redis, proxy) = rig();
    let mut old = through(&proxy);
    old.call(&["PING"]);
    proxy.half_open();
    old.send(&["INCR", "a"]).unwrap();
    assert_eq!(through(&proxy).call(&["INCR", "b"]).int(), 1);
    proxy.heal();
    assert_eq!(redis.command(&["EXISTS", "a"]).int(), 0);
}
