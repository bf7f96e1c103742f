//! Effects of the scripts that the memory store does not have: keys, times to live, foreign and lost data, full memory.

mod bytes;
mod calls;
mod crowds;
mod foreign;
mod keys;
mod loss;
mod memory;

use std::sync::Arc;
use std::time::Duration;

use auto_mutex_seam::StoreError;
use auto_mutex_seam::store::{
    MemberId, Mode, Name, NameRecord, Op, RandomId, Reply, Share, Signal, StoreErrorKind, Ticket,
};
use redis::Connection;

use super::ops::{acquire, release, touch};
use super::server::{CLOCK, Server, attempt, evaluate, evaluate_spread, immortal, parse, run};
use super::{KEYS, key};
use crate::script::Scripts;

/// One name on one server.
struct Bench {
    connection: Connection,
    scripts: Arc<Scripts>,
    member: MemberId,
    name: Name,
    /// Whether all tickets are in the other keys, and none in the first.
    spread: bool,
}

impl Bench {
    /// With the server's own clock.
    fn new(server: &Server) -> Self {
        Self::with(server, Scripts::of(false))
    }

    /// With a manual clock.
    fn manual(server: &Server) -> Self {
        Self::with(server, Arc::new(Scripts::made_of(CLOCK, false)))
    }

    fn with(server: &Server, scripts: Arc<Scripts>) -> Self {
        let mut connection = server.connection();
        for text in scripts.texts() {
            run::<()>(&mut connection, &["SCRIPT", "LOAD", text]);
        }
        Self {
            connection,
            scripts,
            member: MemberId::random(),
            name: Name::from_escaped("ns:Type:method:%7Bkey%7D"),
            spread: false,
        }
    }

    fn spread(server: &Server) -> Self {
        Self {
            spread: true,
            ..Self::new(server)
        }
    }

    fn ask(&mut self, op: &Op) -> Result<Reply, StoreError> {
        let reply = self.put(op);
        let immortal = immortal(&mut self.connection, "auto_mutex");
        assert!(immortal.is_empty(), "{immortal:?} after {op:?}");
        reply
    }

    /// Like [`Self::ask`], but does not check the keys.
    fn put(&mut self, op: &Op) -> Result<Reply, StoreError> {
        let write = if self.spread {
            evaluate_spread
        } else {
            evaluate
        };
        let cmd = write(&self.scripts, self.member, &self.name, op);
        parse(&attempt(&mut self.connection, &cmd), op)
    }

    fn info(&mut self) -> NameRecord {
        match self.ask(&Op::Inspect { above: 0 }).unwrap() {
            Reply::Info(info) => info,
            other => panic!("{other:?}"),
        }
    }

    /// Returns the token of a grant.
    fn granted(&mut self, op: &Op) -> u64 {
        match self.ask(op).unwrap() {
            Reply::Granted { token, .. } => token,
            other => panic!("{other:?}"),
        }
    }

    fn key(&self, suffix: &str) -> String {
        format!("{}{suffix}", key(&self.name))
    }

    /// Replaces the record of a ticket in the other keys. Returns 0 if there was one.
    fn replace_record(&mut self, ticket: Ticket, record: &str) -> i64 {
        let mut set = redis::cmd("HSET");
        set.arg(self.key(":tickets"));
        set.arg(ticket.as_bytes()).arg(record);
        set.query(&mut self.connection).unwrap()
    }

    fn remove(&mut self, suffix: &str) {
        let key = self.key(suffix);
        assert_eq!(run::<i32>(&mut self.connection, &["DEL", &key]), 1);
    }

    /// Returns the suffixes of the keys that exist.
    fn keys(&mut self) -> Vec<String> {
        let mut keys: Vec<String> = run(&mut self.connection, &["KEYS", "auto_mutex*"]);
        keys.sort();
        let base = key(&self.name);
        keys.iter()
            .map(|key| key.strip_prefix(&base).unwrap().to_owned())
            .collect()
    }

    fn time_to_live(&mut self, suffix: &str) -> Duration {
        let key = self.key(suffix);
        let millis: i64 = run(&mut self.connection, &["PTTL", &key]);
        Duration::from_millis(millis.try_into().expect("the key is there"))
    }
}

/// Like [`acquire`], but also accepts a signal.
fn acquire_any(ticket: Ticket, capacity: u32) -> Op {
    let mut op = acquire(ticket, capacity, Mode::Queue);
    if let Op::Acquire { share, .. } = &mut op {
        *share = Share::permits(1, capacity);
    }
    op
}

fn signal(text: &str) -> Op {
    Op::Signal {
        ticket: Ticket::random(),
        signal: Signal::Token(text.into()),
    }
}

/// Operations that create no key.
fn every_question(ticket: Ticket) -> [Op; 8] {
    [
        touch(ticket),
        release(ticket),
        Op::Force,
        Op::Kick {
            token: 17,
            by: "h 1 s".into(),
        },
        Op::Raise { ticket, token: 17 },
        Op::Signal {
            ticket,
            signal: Signal::All,
        },
        Op::Delete,
        Op::Inspect { above: 0 },
    ]
}

fn every_op(ticket: Ticket) -> Vec<Op> {
    let mut ops = vec![
        acquire(ticket, 1, Mode::Queue),
        acquire(ticket, 1, Mode::Try),
        signal("a token"),
    ];
    ops.extend(every_question(ticket));
    ops
}
