//! The scripts one by one, where the reference model has nothing to say: keys, times to live, foreign state.

use std::time::Duration;

use redis::Connection;

use super::super::command::{SUFFIXES, evaluate, key};
use super::super::reply;
use super::super::scripts::Scripts;
use super::server::{Server, attempt, immortal, run};
use crate::error::{StoreError, StoreErrorKind};
use crate::name::Name;
use crate::store::{MemberId, Mode, Op, Reply, Share, Ticket};

/// One name on one server, at the server's own time.
struct Bench {
    connection: Connection,
    scripts: Scripts,
    member: MemberId,
    name: Name,
}

impl Bench {
    fn new(server: &Server) -> Self {
        let mut connection = server.connection();
        let scripts = Scripts::new();
        for text in scripts.texts() {
            run::<()>(&mut connection, &["SCRIPT", "LOAD", text]);
        }
        Self {
            connection,
            scripts,
            member: MemberId::random(),
            name: Name::from_escaped("ns:Type:method:%7Bkey%7D"),
        }
    }

    fn ask(&mut self, op: &Op) -> Result<Reply, StoreError> {
        let cmd = evaluate(&self.scripts, self.member, &self.name, op);
        let reply = reply::parse(attempt(&mut self.connection, &cmd));
        let immortal = immortal(&mut self.connection, "auto_mutex");
        assert!(immortal.is_empty(), "{immortal:?} after {op:?}");
        reply
    }

    fn keys(&mut self) -> Vec<String> {
        let mut keys: Vec<String> = run(&mut self.connection, &["KEYS", "auto_mutex*"]);
        keys.sort();
        let base = key(&self.name);
        keys.iter()
            .map(|key| key.strip_prefix(&base).unwrap().to_owned())
            .collect()
    }

    fn time_to_live(&mut self, suffix: &str) -> Duration {
        let key = format!("{}{suffix}", key(&self.name));
        Duration::from_millis(run(&mut self.connection, &["PTTL", &key]))
    }
}

fn acquire(ticket: Ticket, capacity: u32, mode: Mode) -> Op {
    Op::Acquire {
        ticket,
        counter: 1,
        share: Share::of(1, capacity),
        hold: Duration::from_secs(10),
        place: Duration::from_secs(10),
        mode,
        meta: "host 1 site".into(),
    }
}

fn touch(ticket: Ticket) -> Op {
    Op::Touch {
        ticket,
        counter: 2,
        units: 0,
        hold: Duration::from_secs(10),
        place: Duration::from_secs(10),
    }
}

fn release(ticket: Ticket, park: Duration, tomb: bool) -> Op {
    Op::Release {
        ticket,
        park,
        tomb,
        used: 0,
    }
}

fn every_op(ticket: Ticket) -> [Op; 6] {
    [
        acquire(ticket, 1, Mode::Queue),
        acquire(ticket, 1, Mode::Try),
        Op::Touch {
            ticket,
            counter: 2,
            units: 0,
            hold: Duration::from_secs(10),
            place: Duration::from_secs(10),
        },
        release(ticket, Duration::ZERO, false),
        Op::Force {
            owner: Default::default(),
        },
        Op::Inspect,
    ]
}

#[test]
fn an_uncontended_lock_is_one_key() {
    let server = Server::start();
    let mut bench = Bench::new(&server);
    let ticket = Ticket::random();
    let granted = bench.ask(&acquire(ticket, 1, Mode::Queue)).unwrap();
    assert_eq!(bench.keys(), [""]);
    assert!(bench.time_to_live("") > Duration::from_secs(600));
    // The same request again is the same grant.
    assert_eq!(
        bench.ask(&acquire(ticket, 1, Mode::Queue)).unwrap(),
        granted
    );
    bench.ask(&release(ticket, Duration::ZERO, false)).unwrap();
    assert_eq!(bench.keys(), [""]);
    assert!(bench.time_to_live("") > Duration::from_secs(590));
}

#[test]
fn the_short_ways_are_three_calls() {
    let server = Server::start();
    let mut bench = Bench::new(&server);
    let [ticket, other] = [Ticket::random(), Ticket::random()];
    for op in [
        acquire(ticket, 1, Mode::Queue),
        every_op(ticket)[2].clone(),
        acquire(other, 1, Mode::Try),
        release(ticket, Duration::ZERO, false),
    ] {
        run::<()>(&mut bench.connection, &["CONFIG", "RESETSTAT"]);
        let cmd = evaluate(&bench.scripts, bench.member, &bench.name, &op);
        attempt(&mut bench.connection, &cmd);
        let info: String = run(&mut bench.connection, &["INFO", "commandstats"]);
        let calls = |line: &str| {
            let (command, rest) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
            let inner = ["evalsha", "config|resetstat", "info"].contains(&command);
            (!inner)
                .then(|| rest.split(',').next()?.parse::<u32>().ok())
                .flatten()
        };
        let calls: u32 = info.lines().filter_map(calls).sum();
        assert!(calls <= 3, "{op:?} {info}");
    }
}

#[test]
fn what_is_left_of_a_crowd_is_the_token() {
    let server = Server::start();
    let mut bench = Bench::new(&server);
    let tickets: Vec<_> = (0..2500).map(|_| Ticket::random()).collect();
    for &ticket in &tickets {
        let cmd = evaluate(
            &bench.scripts,
            bench.member,
            &bench.name,
            &acquire(ticket, 1, Mode::Queue),
        );
        attempt(&mut bench.connection, &cmd);
    }
    let Reply::Info(info) = bench.ask(&Op::Inspect).unwrap() else {
        panic!("no info");
    };
    assert_eq!((info.holders.len(), info.waiters.len()), (1, 2499));
    assert!(
        info.waiters
            .iter()
            .map(|waiter| waiter.ticket)
            .eq(tickets[1..].iter().copied())
    );
    let Reply::Queued { position, .. } = bench.ask(&every_op(tickets[2000])[2]).unwrap() else {
        panic!("not queued");
    };
    assert_eq!(position, 2000);
    for &ticket in &tickets {
        let cmd = evaluate(
            &bench.scripts,
            bench.member,
            &bench.name,
            &release(ticket, Duration::ZERO, false),
        );
        attempt(&mut bench.connection, &cmd);
    }
    assert_eq!(bench.keys(), [""]);
}

#[test]
fn keys_live_longer_than_what_is_parked() {
    let server = Server::start();
    let mut bench = Bench::new(&server);
    let ticket = Ticket::random();
    bench.ask(&acquire(ticket, 1, Mode::Queue)).unwrap();
    bench
        .ask(&release(ticket, Duration::from_secs(7_200), false))
        .unwrap();
    for suffix in ["", ":held", ":tickets"] {
        assert!(
            bench.time_to_live(suffix) > Duration::from_secs(7_200),
            "{suffix}"
        );
    }
    // A touch of something unknown does not shorten it.
    bench.ask(&every_op(Ticket::random())[2]).unwrap();
    assert!(bench.time_to_live(":held") > Duration::from_secs(7_200));
}

#[test]
fn a_tombstone_lives_for_half_a_minute() {
    let server = Server::start();
    let mut bench = Bench::new(&server);
    let ticket = Ticket::random();
    assert_eq!(
        bench.ask(&release(ticket, Duration::ZERO, true)).unwrap(),
        Reply::Gone
    );
    assert!(bench.time_to_live(":gone") <= Duration::from_secs(30));
    assert_eq!(
        bench.ask(&acquire(ticket, 1, Mode::Queue)).unwrap(),
        Reply::Refused
    );
    let other = bench
        .ask(&acquire(Ticket::random(), 1, Mode::Queue))
        .unwrap();
    assert!(matches!(other, Reply::Granted { .. }));
}

#[test]
fn asking_about_nothing_leaves_nothing() {
    let server = Server::start();
    let mut bench = Bench::new(&server);
    for op in &every_op(Ticket::random())[2..] {
        bench.ask(op).unwrap();
        assert!(bench.keys().is_empty(), "{op:?}");
    }
}

#[test]
fn what_is_not_ours_is_an_error_and_stays() {
    let server = Server::start();
    let mut bench = Bench::new(&server);
    let base = key(&bench.name);
    let strange: &[&[&str]] = &[
        &["SET", "", "somebody's"],
        &["SET", "", ""],
        &["SET", "", "1 i"],
        &["SET", "", "1 i -5"],
        &["SET", "", "1 s 1 2 3"],
        &["SET", "", "1 f 1 2 3 4 5"],
        &["SET", "", "2 i 5"],
        &["HSET", "", "a", "b"],
        &["ZADD", "", "1", "a"],
        &["RPUSH", "", "a"],
    ];
    for words in strange {
        let mut cmd = redis::cmd(words[0]);
        cmd.arg(&base).arg(&words[2..]);
        cmd.exec(&mut bench.connection).unwrap();
        let before: Vec<u8> = run(&mut bench.connection, &["DUMP", &base]);
        for op in every_op(Ticket::random()) {
            let cmd = evaluate(&bench.scripts, bench.member, &bench.name, &op);
            let error = reply::parse(attempt(&mut bench.connection, &cmd)).unwrap_err();
            assert_eq!(
                error.kind(),
                StoreErrorKind::Foreign,
                "{words:?} {op:?} {error}"
            );
            let after: Vec<u8> = run(&mut bench.connection, &["DUMP", &base]);
            assert_eq!(after, before, "{words:?} {op:?}");
            assert_eq!(run::<i64>(&mut bench.connection, &["PTTL", &base]), -1);
        }
        run::<()>(&mut bench.connection, &["DEL", &base]);
    }
}

#[test]
fn a_foreign_key_beside_ours_is_an_error_and_stays() {
    let server = Server::start();
    for suffix in &SUFFIXES[1..4] {
        let mut bench = Bench::new(&server);
        run::<()>(&mut bench.connection, &["FLUSHALL"]);
        bench
            .ask(&acquire(Ticket::random(), 1, Mode::Queue))
            .unwrap();
        let beside = format!("{}{suffix}", key(&bench.name));
        run::<()>(
            &mut bench.connection,
            &["SET", &beside, "somebody's", "EX", "1000"],
        );
        // This one does not take the short way.
        let error = bench
            .ask(&acquire(Ticket::random(), 1, Mode::Queue))
            .unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Foreign, "{suffix} {error}");
        let value: String = run(&mut bench.connection, &["GET", &beside]);
        assert_eq!(value, "somebody's");
    }
}

#[test]
fn an_unreadable_record_is_an_error() {
    let server = Server::start();
    for record in ["1 2 3", "garbage \u{0}", ""] {
        let mut bench = Bench::new(&server);
        run::<()>(&mut bench.connection, &["FLUSHALL"]);
        let [first, second] = [Ticket::random(), Ticket::random()];
        bench.ask(&acquire(first, 1, Mode::Queue)).unwrap();
        bench.ask(&acquire(second, 1, Mode::Queue)).unwrap();
        let tickets = format!("{}:tickets", key(&bench.name));
        run::<()>(
            &mut bench.connection,
            &["HSET", &tickets, &second.to_string(), record],
        );
        for op in [release(first, Duration::ZERO, false), Op::Inspect] {
            let error = bench.ask(&op).unwrap_err();
            assert_eq!(error.kind(), StoreErrorKind::Foreign, "{record:?} {error}");
        }
    }
}

#[test]
fn a_state_that_lost_a_part_keeps_its_holder_and_its_waiters_ask_anew() {
    let server = Server::start();
    for lost in ["tickets", "queue"] {
        let mut bench = Bench::new(&server);
        run::<()>(&mut bench.connection, &["FLUSHALL"]);
        let [first, second] = [Ticket::random(), Ticket::random()];
        bench.ask(&acquire(first, 1, Mode::Queue)).unwrap();
        bench.ask(&acquire(second, 1, Mode::Queue)).unwrap();
        let part = format!("{}:{lost}", key(&bench.name));
        run::<()>(&mut bench.connection, &["DEL", &part]);
        assert!(matches!(
            bench.ask(&touch(first)).unwrap(),
            Reply::Granted { .. }
        ));
        assert_eq!(bench.ask(&touch(second)).unwrap(), Reply::Gone);
        let again = bench.ask(&acquire(second, 1, Mode::Queue)).unwrap();
        assert!(matches!(again, Reply::Queued { position: 1, .. }));
        assert_eq!(
            bench.ask(&release(first, Duration::ZERO, false)).unwrap(),
            Reply::Released { free: 0 }
        );
    }
}

#[test]
fn a_name_that_lost_its_many_holders_is_closed() {
    let server = Server::start();
    for lost in ["tickets", "held"] {
        let mut bench = Bench::new(&server);
        run::<()>(&mut bench.connection, &["FLUSHALL"]);
        let [first, second, third] = [Ticket::random(), Ticket::random(), Ticket::random()];
        bench.ask(&acquire(first, 2, Mode::Queue)).unwrap();
        bench.ask(&acquire(second, 2, Mode::Queue)).unwrap();
        let part = format!("{}:{lost}", key(&bench.name));
        run::<()>(&mut bench.connection, &["DEL", &part]);
        let error = bench.ask(&acquire(third, 2, Mode::Queue)).unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Foreign, "{error}");
    }
}

#[test]
fn a_removed_first_key_is_a_new_beginning() {
    let server = Server::start();
    let mut bench = Bench::new(&server);
    let tickets = [Ticket::random(), Ticket::random(), Ticket::random()];
    bench.ask(&acquire(tickets[0], 1, Mode::Queue)).unwrap();
    bench.ask(&acquire(tickets[1], 1, Mode::Queue)).unwrap();
    let base = key(&bench.name);
    run::<()>(&mut bench.connection, &["DEL", &base]);
    let granted = bench.ask(&acquire(tickets[2], 1, Mode::Queue)).unwrap();
    assert!(matches!(granted, Reply::Granted { .. }));
    let queued = bench.ask(&acquire(tickets[0], 1, Mode::Queue)).unwrap();
    assert!(matches!(queued, Reply::Queued { position: 1, .. }));
    let Reply::Info(info) = bench.ask(&Op::Inspect).unwrap() else {
        panic!("no info");
    };
    assert_eq!((info.holders.len(), info.waiters.len()), (1, 1));
}
