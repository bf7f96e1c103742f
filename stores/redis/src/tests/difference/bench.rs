//! [`Bench`]: a server with the scripts, which read the time from a key.

use std::collections::{HashMap, HashSet};

use auto_mutex_difference::{Outcome, Request, Subject};
use auto_mutex_seam::store::{
    MemberId, Message, Name, NameRecord, Op, RandomId, Reply, StoreErrorKind, Ticket, open_message,
};
use redis::{Cmd, Connection, Msg, PubSub};

use super::loss::Kept;
use crate::script::command::{self, Part, channel};
use crate::script::reply;
use crate::script::{Scripts, code};
use crate::tests::ops::touch;
use crate::tests::server::{CLOCK, Server, attempt, borrowed, parse, run};
use crate::tests::{KEYS, key};

const MINUTE_MS: i64 = 60_000;
const DAY_MS: i64 = 24 * 60 * MINUTE_MS;

/// A server with the scripts, and connections to it. It serves one run after another.
pub(super) struct Bench {
    scripts: Scripts,
    pub(super) connection: Connection,
    ears: PubSub<'static>,
    listening: HashSet<MemberId>,
    /// Of this run, by their public halves.
    tickets: HashMap<u64, Ticket>,
    server: Option<Server>,
    /// The operations of this run so far.
    steps: u32,
}

/// Every so many operations share a command with those of other names.
const SHARING: u32 = 4;

impl Bench {
    /// Starts its own server.
    pub(super) fn start() -> Self {
        let server = Server::start();
        let mut bench = Self::with(&server, Scripts::made_of(CLOCK, false));
        bench.server = Some(server);
        bench
    }

    /// Makes a bench whose scripts have `other` instead of `part`.
    pub(super) fn edited(server: &Server, part: &str, other: &str) -> Self {
        Self::with(server, Scripts::made_of(CLOCK, false).edited(part, other))
    }

    fn with(server: &Server, scripts: Scripts) -> Self {
        // The connection lives as long as the process, because PubSub borrows it.
        let ears: &'static mut Connection = Box::leak(Box::new(server.connection()));
        let mut ears = ears.as_pubsub();
        ears.subscribe("end").unwrap();
        let mut connection = server.connection();
        for text in scripts.texts() {
            run::<()>(&mut connection, &["SCRIPT", "LOAD", text]);
        }
        Self {
            scripts,
            connection,
            ears,
            listening: HashSet::new(),
            tickets: HashMap::new(),
            server: None,
            steps: 0,
        }
    }

    /// Returns whether the next operation shares its command with those of two other names: a foreign key, and a copy
    /// of its own name.
    fn shares(&mut self, name: &Name) -> bool {
        self.steps += 1;
        if !self.steps.is_multiple_of(SHARING) {
            return false;
        }
        let mut prepare = redis::pipe();
        prepare.cmd("SET").arg(key(&odd(name))).arg("somebody's");
        for suffix in KEYS {
            let [from, to] = [name, &copy(name)].map(|name| format!("{}{suffix}", key(name)));
            prepare.cmd("DEL").arg(&to);
            prepare.cmd("COPY").arg(&from).arg(&to);
        }
        prepare.exec(&mut self.connection).unwrap();
        true
    }

    fn command(
        &self,
        shares: bool,
        request: &Request<'_>,
        before: Option<(u8, u64)>,
        ops: &[&Op],
    ) -> Cmd {
        let (odd, copy) = (odd(request.name), copy(request.name));
        let touch = [&touch(Ticket::random())];
        let all = [(&odd, &touch[..]), (request.name, ops), (&copy, ops)];
        let all = if shares { &all[..] } else { &all[1..2] };
        let parts = all.iter().flat_map(|(name, ops)| {
            let ops = ops.iter().enumerate();
            ops.map(|(index, op)| Part {
                name,
                op,
                joins: index > 0,
            })
        });
        let mut cmd = Cmd::new();
        command::evaluate(&mut cmd, &self.scripts, request.member, before, parts);
        cmd
    }

    /// The messages about the name. If `compares`, checks that those about its copy are the same.
    fn heard_of(&mut self, compares: bool, name: &Name) -> Vec<(MemberId, Message)> {
        let listening = self.listening.clone();
        let told = |(to, _, message): (String, Name, Message)| {
            let member = listening.iter().find(|member| channel(**member) == to);
            (*member.unwrap(), message)
        };
        let (own, others): (Vec<_>, Vec<_>) =
            self.heard().into_iter().partition(|told| told.1 == *name);
        assert!(others.iter().all(|told| told.1 == copy(name)));
        let [own, others] = [own, others].map(|all| all.into_iter().map(told).collect::<Vec<_>>());
        if compares {
            let sorted = |all: &[(MemberId, Message)]| {
                let mut all: Vec<_> = all.iter().map(|told| format!("{told:?}")).collect();
                all.sort();
                all
            };
            assert_eq!(sorted(&own), sorted(&others));
        }
        own
    }

    /// `compares` says whether a copy of the name must have had the same messages.
    fn execute(&mut self, request: &Request<'_>, shares: bool, compares: bool) -> Outcome {
        let Request {
            now,
            opens,
            name,
            op,
            spread,
            ..
        } = *request;
        self.know(op);
        let mut pipeline = Vec::new();
        let mut put = |words: &[&str]| {
            let mut cmd = redis::Cmd::new();
            cmd.arg(words).write_packed_command(&mut pipeline);
        };
        put(&["SET", "now", &now.to_string()]);
        put(&["GETRANGE", &key(name), "2", "2"]);
        put(&["EXISTS", &format!("{}:tickets", key(name))]);
        let until = command::until(opens);
        let before = if spread {
            Some((code::SPREAD, 0))
        } else {
            until
        };
        self.command(shares, request, before, &[op])
            .write_packed_command(&mut pipeline);
        self.command(false, request, until, &[&Op::Inspect { above: 0 }])
            .write_packed_command(&mut pipeline);
        for suffix in KEYS {
            let mut lives = redis::cmd("PTTL");
            lives.arg(format!("{}{suffix}", key(name)));
            lives.write_packed_command(&mut pipeline);
        }
        let mut publish = redis::cmd("PUBLISH");
        publish.arg("end").arg("");
        publish.write_packed_command(&mut pipeline);
        use redis::ConnectionLike as _;
        let mut replies = self
            .connection
            .req_packed_commands(&pipeline, 0, 6 + KEYS.len())
            .unwrap()
            .into_iter()
            .skip(1);
        let form = match &replies.next().unwrap() {
            redis::Value::BulkString(form) => String::from_utf8_lossy(form).into_owned(),
            other => panic!("{other:?}"),
        };
        let apart = replies.next().unwrap() == redis::Value::Int(1);
        let form = if apart { "apart".to_owned() } else { form };
        let reply = own(shares, replies.next().unwrap());
        let reply = parse(&reply, op).unwrap();
        let info = match parse(&replies.next().unwrap(), &Op::Inspect { above: 0 }) {
            Ok(Reply::Info(info)) => info,
            other => panic!("{other:?}"),
        };
        for (suffix, lives) in KEYS.iter().zip(replies) {
            let redis::Value::Int(lives) = lives else {
                panic!("{lives:?}");
            };
            check_life(suffix, lives, &info);
        }
        let messages = self.heard_of(compares, name);
        Outcome {
            reply,
            messages,
            info,
            form,
        }
    }

    fn know(&mut self, op: &Op) {
        let ticket = op.ticket().map(|ticket| (ticket.public(), ticket));
        self.tickets.extend(ticket);
    }

    /// Returns the messages that were published before `end`.
    fn heard(&mut self) -> Vec<(String, Name, Message)> {
        let mut messages = Vec::new();
        loop {
            let message: Msg = self.ears.get_message().unwrap();
            if message.get_channel_name() == "end" {
                return messages;
            }
            let payload: String = message.get_payload().unwrap();
            let opened = open_message(&payload, |_, public| self.tickets.get(&public).copied());
            let (name, told) = opened.expect("a message of ours");
            messages.push((message.get_channel_name().to_owned(), name, told));
        }
    }
}

fn odd(name: &Name) -> Name {
    Name::from_escaped(&format!("odd:{name}"))
}

fn copy(name: &Name) -> Name {
    Name::from_escaped(&format!("copy:{name}"))
}

/// The reply to the operations on the name itself.
fn own(shares: bool, reply: redis::Value) -> redis::Value {
    if !shares {
        return reply;
    }
    let redis::Value::Array(replies) = reply else {
        panic!("{reply:?}");
    };
    let [odd, own, copy] = <[redis::Value; 3]>::try_from(replies).unwrap();
    let error = parse(&odd, &Op::Delete).unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Foreign);
    assert_eq!(own, copy);
    own
}

impl Subject for Bench {
    type Kept = Kept;

    fn reset(&mut self) {
        run::<()>(&mut self.connection, &["FLUSHALL"]);
        self.steps = 0;
        self.tickets.clear();
    }

    fn listen(&mut self, member: MemberId, listens: bool) {
        let channel = channel(member);
        match listens {
            true => {
                self.listening.insert(member);
                self.ears.subscribe(channel).unwrap();
            }
            false => {
                self.listening.remove(&member);
                self.ears.unsubscribe(channel).unwrap();
            }
        }
    }

    fn apply(&mut self, request: &Request<'_>) -> Outcome {
        let shares = self.shares(request.name);
        self.execute(request, shares, shares)
    }

    fn pair(&mut self, release: &Request<'_>, acquire: &Request<'_>) -> (Reply, Outcome) {
        let shares = self.shares(acquire.name);
        let ops = [release.op, acquire.op];
        ops.iter().for_each(|op| self.know(op));
        let cmd = self.command(shares, acquire, command::until(acquire.opens), &ops);
        run::<()>(
            &mut self.connection,
            &["SET", "now", &acquire.now.to_string()],
        );
        let value = own(
            shares,
            attempt(&mut self.connection, &cmd.get_packed_command()),
        );
        let [first, second] = reply::of_both(borrowed(&value), acquire.op);
        let first = reply::parse(&first, release.op).unwrap();
        let second = reply::parse(&second, acquire.op).unwrap();
        let inspect = Request {
            op: &Op::Inspect { above: 0 },
            ..*acquire
        };
        let mut outcome = self.execute(&inspect, false, shares);
        outcome.reply = second;
        (first, outcome)
    }

    fn keep(&mut self, name: &Name) -> Kept {
        self.kept(name)
    }

    fn lose(&mut self, name: &Name) {
        self.delete(name);
    }

    fn restore(&mut self, name: &Name, kept: &Kept) {
        self.put(name, kept);
    }

    fn check_rest(&mut self, name: &Name, token: u64) {
        let mut keys: Vec<String> =
            run(&mut self.connection, &["KEYS", &format!("{}*", key(name))]);
        // The record of the last kick is kept for a day by the server's own clock.
        keys.retain(|key| !key.ends_with(":kick"));
        let left = if token > 0 {
            vec![key(name)]
        } else {
            Vec::new()
        };
        assert_eq!(keys, left, "{name}");
    }
}

/// Checks that every key has a time to live, and that signals are kept for about a day. (The limit is below a day,
/// because the test sometimes sets back the scripts' clock, but not the clock that ends keys.)
fn check_life(suffix: &str, lives: i64, info: &NameRecord) {
    let exists = lives != -2;
    let least = match suffix {
        ":gone" => 0,
        _ if info.signals > 0 => DAY_MS - 30 * MINUTE_MS,
        _ => MINUTE_MS,
    };
    assert!(!exists || lives >= least, "{suffix} lives for {lives} ms");
    let needed = suffix.is_empty() && info.token > 0;
    assert!(exists || !needed, "the first key is missing");
}
