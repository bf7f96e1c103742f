//! Some names, each with two states: one in the model, and one of the scripts, on a server whose clock is a key.

mod loss;

use std::collections::HashSet;

use auto_mutex_core::store::State;
use auto_mutex_core::store::{MemberId, Message, Name, NameRecord, Op, Reply};
use redis::{Cmd, Connection, Msg, PubSub};

use super::super::server::{Server, attempt, borrowed, parse, run};
use super::super::{KEYS, key};
use crate::script::Scripts;
use crate::script::command::{self, channel};
use crate::script::push;
use crate::script::reply;
use crate::wire::Value;

pub(super) use loss::Snapshot;

/// The scripts' source of time for this test.
const CLOCK: &str = "local function clock() return tonumber(redis.call('GET', 'now')) end\n";
const MINUTE_MS: i64 = 60_000;
const DAY_MS: i64 = 24 * 60 * MINUTE_MS;

/// The outcome of an operation.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) reply: Reply,
    /// The messages in order, except those to holders, whose order is not defined.
    pub(super) messages: Vec<(MemberId, Message)>,
    /// The state after the operation.
    pub(super) info: NameRecord,
    /// The form of the first key before the operation.
    pub(super) form: String,
}

/// A server with the scripts, and connections to it. It serves one run after the other.
pub(super) struct Bench {
    scripts: Scripts,
    connection: Connection,
    ears: PubSub<'static>,
}

impl Bench {
    pub(super) fn new(server: &Server) -> Self {
        Self::with(server, Scripts::made_of(CLOCK, false))
    }

    /// Makes a bench whose scripts have `other` in place of `part`.
    pub(super) fn edited(server: &Server, part: &str, other: &str) -> Self {
        Self::with(server, Scripts::made_of(CLOCK, false).edited(part, other))
    }

    fn with(server: &Server, scripts: Scripts) -> Self {
        // The connection is kept for as long as the process lives, because PubSub borrows it.
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
        }
    }

    /// Returns the messages that were published before `end`.
    fn heard(&mut self) -> Vec<(String, Name, Message)> {
        let mut messages = Vec::new();
        loop {
            let message: Msg = self.ears.get_message().unwrap();
            if message.get_channel_name() == "end" {
                return messages;
            }
            let payload = Value::Text(message.get_payload_bytes());
            let told = push::read(&[Value::Text(b"message"), Value::Nil, payload]);
            let (name, told) = told.expect("a message of ours");
            messages.push((message.get_channel_name().to_owned(), name, told));
        }
    }
}

pub(super) struct Both<'a> {
    bench: &'a mut Bench,
    names: Vec<(Name, State)>,
    listening: HashSet<MemberId>,
    /// Nothing is granted before this time.
    opens: u64,
}

impl<'a> Both<'a> {
    pub(super) fn new(bench: &'a mut Bench, names: usize) -> Self {
        run::<()>(&mut bench.connection, &["FLUSHALL"]);
        let name = |index| Name::from_escaped(&format!("difference:%7B{index}%7D"));
        Self {
            bench,
            names: (0..names)
                .map(|index| (name(index), State::default()))
                .collect(),
            listening: HashSet::new(),
            opens: 0,
        }
    }

    pub(super) fn listen(&mut self, member: MemberId, listens: bool) {
        let channel = channel(member);
        if listens && self.listening.insert(member) {
            self.bench.ears.subscribe(channel).unwrap();
        } else if !listens && self.listening.remove(&member) {
            self.bench.ears.unsubscribe(channel).unwrap();
        }
    }

    /// Returns the outcomes of the model and of the scripts.
    pub(super) fn apply(
        &mut self,
        now: u64,
        index: usize,
        member: MemberId,
        op: &Op,
        spread: bool,
    ) -> (Outcome, Outcome) {
        let model = self.model(now, index, member, op);
        (model, self.scripts(now, index, member, op, spread))
    }

    /// Grants nothing before the time `opens` from now on.
    pub(super) fn close_until(&mut self, opens: u64) {
        self.opens = opens;
    }

    /// Applies a release and an acquire in one command. Returns for the model and for the scripts: the reply to the release,
    /// and the outcome of the acquire with the messages of both operations.
    pub(super) fn pair(
        &mut self,
        now: u64,
        index: usize,
        member: MemberId,
        ops: [&Op; 2],
    ) -> [(Reply, Outcome); 2] {
        let first = self.model(now, index, member, ops[0]);
        let mut last = self.model(now, index, member, ops[1]);
        last.messages.splice(0..0, first.messages);
        let model = (first.reply, last);
        let name = self.names[index].0.clone();
        let mut put = Cmd::new();
        let (scripts, opens) = (&self.bench.scripts, self.opens);
        command::evaluate(&mut put, scripts, member, &name, &ops, opens);
        run::<()>(
            &mut self.bench.connection,
            &["SET", "now", &now.to_string()],
        );
        let value = attempt(&mut self.bench.connection, &put.get_packed_command());
        let [first, last] = reply::of_both(borrowed(&value), ops[1]);
        let first = reply::parse(&first, ops[0]).unwrap();
        let last = reply::parse(&last, ops[1]).unwrap();
        let mut outcome = self.scripts(now, index, member, &Op::Inspect, false);
        outcome.reply = last;
        [model, (first, outcome)]
    }

    fn model(&mut self, now: u64, index: usize, member: MemberId, op: &Op) -> Outcome {
        let state = &mut self.names[index].1;
        let listening = &self.listening;
        let mut messages = Vec::new();
        let mut publish = |member: MemberId, message: Message| {
            let heard = listening.contains(&member);
            if heard {
                messages.push((member, message));
            }
            heard
        };
        let reply = state.apply_until_open(now, self.opens, member, op, &mut publish);
        let Reply::Info(info) = state.apply(now, member, &Op::Inspect, &mut |_, _| false) else {
            panic!("no info");
        };
        outcome(reply, messages, info, String::new())
    }

    fn scripts(
        &mut self,
        now: u64,
        index: usize,
        member: MemberId,
        op: &Op,
        spread: bool,
    ) -> Outcome {
        let name = &self.names[index].0;
        let bench = &mut *self.bench;
        let mut pipeline = Vec::new();
        let mut put = |words: &[&str]| {
            let mut cmd = redis::Cmd::new();
            cmd.arg(words).write_packed_command(&mut pipeline);
        };
        put(&["SET", "now", &now.to_string()]);
        put(&["GETRANGE", &key(name), "2", "2"]);
        put(&["EXISTS", &format!("{}:tickets", key(name))]);
        let (mut first, mut then, scripts) = (Cmd::new(), Cmd::new(), &bench.scripts);
        match spread {
            true => command::evaluate_spread(&mut first, scripts, member, name, op),
            false => command::evaluate(&mut first, scripts, member, name, &[op], self.opens),
        };
        first.write_packed_command(&mut pipeline);
        let inspect = [&Op::Inspect];
        command::evaluate(&mut then, scripts, member, name, &inspect, self.opens);
        then.write_packed_command(&mut pipeline);
        for suffix in KEYS {
            let mut lives = redis::cmd("PTTL");
            lives.arg(format!("{}{suffix}", key(name)));
            lives.write_packed_command(&mut pipeline);
        }
        let mut publish = redis::cmd("PUBLISH");
        publish.arg("end").arg("");
        publish.write_packed_command(&mut pipeline);
        use redis::ConnectionLike as _;
        let mut replies = bench
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
        let reply = replies.next().unwrap();
        let reply = parse(&reply, op).unwrap();
        let info = match parse(&replies.next().unwrap(), &Op::Inspect) {
            Ok(Reply::Info(info)) => info,
            other => panic!("{other:?}"),
        };
        for (suffix, lives) in KEYS.iter().zip(replies) {
            let redis::Value::Int(lives) = lives else {
                panic!("{lives:?}");
            };
            check_life(suffix, lives, &info);
        }
        let listening = &self.listening;
        let told = |(to, about, message): (String, Name, Message)| {
            assert_eq!(about, *name);
            let member = listening.iter().find(|member| channel(**member) == to);
            (*member.unwrap(), message)
        };
        let messages = bench.heard().into_iter().map(told).collect();
        outcome(reply, messages, info, form)
    }

    /// Returns the suffixes of the keys of a name that exist.
    pub(super) fn keys(&mut self, index: usize) -> Vec<String> {
        let base = key(&self.names[index].0);
        let mut keys: Vec<String> = run(&mut self.bench.connection, &["KEYS", &format!("{base}*")]);
        keys.sort();
        let suffix = |key: String| key.strip_prefix(&base).unwrap().to_owned();
        keys.into_iter().map(suffix).collect()
    }

    /// Ends the run.
    pub(super) fn end(mut self) {
        for member in self.listening.clone() {
            self.listen(member, false);
        }
    }
}

fn outcome(
    mut reply: Reply,
    mut messages: Vec<(MemberId, Message)>,
    mut info: NameRecord,
    form: String,
) -> Outcome {
    blur(&mut info);
    if let Reply::Info(info) = &mut reply {
        blur(info);
    }
    // Holders get their messages first, and in no particular order.
    messages.sort_by_cached_key(|(member, message)| match message {
        Message::Lost { .. } | Message::Refresh { .. } => format!("{member} {message:?}"),
        Message::Grant { .. }
        | Message::Near { .. }
        | Message::Ask { .. }
        | Message::Probe { .. } => "the rest".to_owned(),
    });
    Outcome {
        reply,
        messages,
        info,
        form,
    }
}

/// Removes the waiters' places, which may differ between the model and the scripts. A place is a time, and of two tickets in
/// the same microsecond, one gets the next microsecond. The scripts forget the place of an only holder. So places may differ
/// by a microsecond, or by more after the clock was stepped back. The order of the places is the same.
fn blur(info: &mut NameRecord) {
    for waiter in &mut info.waiters {
        assert_ne!(waiter.since, 0);
        waiter.since = 0;
    }
}

/// Checks that every key has a time to live, and that signals are kept for about a day. (The limit is lower than a day,
/// because the test sometimes steps back the clock of the scripts, but not the clock that ends the keys.)
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
