//! Tests that the script of the lock order agrees with the memory store; and tests of its keys, rights and limits on a
//! server.

use redis::Connection;

use super::server::{LONG, Server, attempt, connect, evaluate, immortal, parse, run};
use crate::acl::acl_rule;
use crate::dice::Dice;
use crate::error::StoreErrorKind;
use crate::name::Name;
use crate::store::limits::{EDGES_KEPT_MS, MOST_EDGES};
use crate::store::memory::order::OrderTable;
use crate::store::redis::scripts::Scripts;
use crate::store::{MemberId, Op, Reply};

/// The scripts read the time from a key that the test sets.
const CLOCK: &str = "local function clock() return tonumber(redis.call('GET', 'now')) end";
const KEY: &str = "auto_mutex:{:order}:edges";

fn connection(server: &Server, scripts: &Scripts) -> Connection {
    let mut connection = server.connection();
    for text in scripts.texts() {
        run::<()>(&mut connection, &["SCRIPT", "LOAD", text]);
    }
    connection
}

fn name() -> Name {
    Name::from_escaped(":order")
}

fn op(since: u64, edges: &[(&str, &str)], claims: &[&str]) -> Op {
    let edges = edges.iter();
    Op::Order {
        since,
        edges: edges
            .map(|(field, text)| ((*field).into(), (*text).into()))
            .collect(),
        claims: claims.iter().map(|claim| (*claim).into()).collect(),
    }
}

fn edges(reply: &Reply) -> usize {
    match reply {
        Reply::Order { edges, .. } => edges.len(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_script_does_what_the_memory_store_does() {
    let server = Server::start();
    let scripts = Scripts::on_clock(CLOCK);
    let mut connection = connection(&server, &scripts);
    let mut dice = Dice(23);
    let members: Vec<_> = (0..3).map(|_| dice.member()).collect();
    let week = EDGES_KEPT_MS * 1000;
    for _ in 0..20 {
        run::<()>(&mut connection, &["FLUSHALL"]);
        let mut table = OrderTable::default();
        let mut now = 1_700_000_000_000_000;
        for _ in 0..60 {
            now += dice.of(&[0, 1, 1_000_000, week / 9, week / 2]);
            run::<()>(&mut connection, &["SET", "now", &now.to_string()]);
            let texts: Vec<(String, String)> = (0..dice.below(4))
                .map(|_| {
                    let [before, after] = [(); 2].map(|()| dice.below(4));
                    (
                        format!("{before} {after}"),
                        format!("src/a%20b.rs {after} \u{fc}"),
                    )
                })
                .collect();
            let given: Vec<_> = texts
                .iter()
                .map(|(field, text)| (&**field, &**text))
                .collect();
            let claims: Vec<String> = (0..dice.below(3)).map(|n| format!(" {n}")).collect();
            let claims: Vec<_> = claims.iter().map(String::as_str).collect();
            let since = dice.of(&[0, now, now - 1_000_000, now + 1]);
            let (member, op) = (dice.of(&members), op(since, &given, &claims));
            let cmd = evaluate(&scripts, member, &name(), &op);
            let reply = parse(&attempt(&mut connection, &cmd), &op).unwrap();
            assert_eq!(reply, table.apply(now, member, &op), "{op:?}");
            let lasting = immortal(&mut connection, "auto_mutex");
            assert!(lasting.is_empty(), "{lasting:?}");
        }
    }
}

#[test]
fn the_oldest_make_room_on_a_server_too() {
    let server = Server::start();
    let scripts = Scripts::on_clock(CLOCK);
    let mut connection = connection(&server, &scripts);
    let (mut table, member) = (OrderTable::default(), MemberId::random());
    let fields: Vec<String> = (0..MOST_EDGES + 100).map(|n| format!("{n:05} x")).collect();
    for (now, fields) in (1..).zip(fields.chunks(64)) {
        let given: Vec<_> = fields.iter().map(|field| (field.as_str(), "t")).collect();
        run::<()>(&mut connection, &["SET", "now", &now.to_string()]);
        let op = op(now, &given, &[]);
        let cmd = evaluate(&scripts, member, &name(), &op);
        let reply = parse(&attempt(&mut connection, &cmd), &op).unwrap();
        assert_eq!(reply, table.apply(now, member, &op));
    }
    let stored: usize = run(&mut connection, &["HLEN", KEY]);
    assert_eq!(stored, MOST_EDGES);
}

#[test]
fn reading_writes_nothing() {
    let server = Server::start();
    let scripts = Scripts::of_server();
    let mut connection = connection(&server, &scripts);
    let member = MemberId::random();
    let mut ask = |op: &Op| {
        let cmd = evaluate(&scripts, member, &name(), op);
        parse(&attempt(&mut connection, &cmd), op).unwrap()
    };
    assert_eq!(edges(&ask(&op(0, &[], &[]))), 0);
    assert_eq!(edges(&ask(&op(0, &[("a b", "t")], &[" a b"]))), 1);
    assert_eq!(edges(&ask(&op(0, &[], &[]))), 1);
    let keys: Vec<String> = run(&mut connection, &["KEYS", "*"]);
    assert_eq!(keys, [KEY]);
    let dumped: Vec<u8> = run(&mut connection, &["DUMP", KEY]);
    let left: u64 = run(&mut connection, &["PTTL", KEY]);
    assert!(
        (EDGES_KEPT_MS - 60_000..=EDGES_KEPT_MS).contains(&left),
        "{left}"
    );
    run::<()>(&mut connection, &["PEXPIRE", KEY, "600000"]);
    let cmd = evaluate(&scripts, member, &name(), &op(0, &[], &[]));
    attempt(&mut connection, &cmd);
    assert_eq!(run::<Vec<u8>>(&mut connection, &["DUMP", KEY]), dumped);
    assert!(run::<u64>(&mut connection, &["PTTL", KEY]) <= 600_000);
}

#[test]
fn a_full_memory_and_a_foreign_key_refuse() {
    let server = Server::start();
    let scripts = Scripts::of_server();
    let mut connection = connection(&server, &scripts);
    let op = op(0, &[("a b", "t")], &[]);
    let cmd = evaluate(&scripts, MemberId::random(), &name(), &op);
    run::<()>(&mut connection, &["CONFIG", "SET", "maxmemory", "1"]);
    let full = parse(&attempt(&mut connection, &cmd), &op).unwrap_err();
    assert_eq!(full.kind(), StoreErrorKind::Refused, "{full}");
    run::<()>(&mut connection, &["CONFIG", "SET", "maxmemory", "0"]);
    run::<()>(&mut connection, &["SET", KEY, "x"]);
    let foreign = parse(&attempt(&mut connection, &cmd), &op).unwrap_err();
    assert_eq!(foreign.kind(), StoreErrorKind::Foreign, "{foreign}");
}

#[tokio::test]
async fn a_user_without_the_optional_right_connects_and_is_refused_here_only() {
    let server = Server::start();
    let rule = acl_rule("redis://h")
        .unwrap()
        .without_optional()
        .to_string();
    let words = format!("ACL SETUSER locks reset on >canary {rule}");
    let words: Vec<_> = words.split(' ').collect();
    run::<()>(&mut server.connection(), &words);
    let endpoint = server.endpoint("?user=locks&pass=canary");
    let connected = connect(&endpoint, LONG, None, MemberId::random()).await;
    drop(connected.unwrap());
    let scripts = Scripts::of_server();
    let mut connection = connection(&server, &scripts);
    run::<()>(&mut connection, &["AUTH", "locks", "canary"]);
    let op = op(0, &[("a b", "t")], &[]);
    let cmd = evaluate(&scripts, MemberId::random(), &name(), &op);
    let error = parse(&attempt(&mut connection, &cmd), &op).unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Forbidden, "{error}");
}
