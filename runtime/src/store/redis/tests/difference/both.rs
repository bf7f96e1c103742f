//! Some names in both worlds: the model's, and the scripts' on a server whose clock is a key.

use std::collections::HashSet;

use redis::{Connection, Msg, PubSub};

use super::super::super::command::{SUFFIXES, channel, key};
use super::super::super::message::{self, Push};
use super::super::super::scripts::Scripts;
use super::super::super::wire::Value;
use super::super::server::{LONG, Server, evaluate, parse, run};
use crate::name::Name;
use crate::store::memory::state::State;
use crate::store::{MemberId, Message, NameRecord, Op, Reply};

/// The scripts' source of time for this test.
const CLOCK: &str = "local function clock() return tonumber(redis.call('GET', 'now')) end\n";
const MINUTE_MS: i64 = 60_000;
const DAY_MS: i64 = 24 * 60 * MINUTE_MS;

/// What an operation led to.
#[derive(Debug, PartialEq)]
pub(super) struct Outcome {
    pub(super) reply: Reply,
    /// In order, but for those to holders, which are told in any.
    pub(super) messages: Vec<(MemberId, Message)>,
    /// The state after it.
    pub(super) info: NameRecord,
}

/// The server; serves one run after the other.
pub(super) struct Bench {
    scripts: Scripts,
    connection: Connection,
    ears: PubSub<'static>,
}

impl Bench {
    pub(super) fn new(server: &Server) -> Self {
        // Kept for as long as the process lives: PubSub borrows its connection.
        let ears: &'static mut Connection = Box::leak(Box::new(server.connection()));
        let mut ears = ears.as_pubsub();
        ears.set_read_timeout(Some(LONG)).unwrap();
        ears.subscribe("end").unwrap();
        let scripts = Scripts::on_clock(CLOCK);
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

    /// What was published before `end` was.
    fn heard(&mut self) -> Vec<(String, Name, Message)> {
        let mut messages = Vec::new();
        loop {
            let message: Msg = self.ears.get_message().unwrap();
            if message.get_channel_name() == "end" {
                return messages;
            }
            let payload = Value::Text(message.get_payload_bytes());
            match message::read(&[Value::Text(b"message"), Value::Nil, payload]) {
                Push::Told(name, told) => {
                    messages.push((message.get_channel_name().to_owned(), name, told));
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

pub(super) struct Both<'a> {
    bench: &'a mut Bench,
    names: Vec<(Name, State)>,
    listening: HashSet<MemberId>,
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

    /// What the model says, and what the scripts do.
    pub(super) fn apply(
        &mut self,
        now: u64,
        index: usize,
        member: MemberId,
        op: &Op,
    ) -> (Outcome, Outcome) {
        let model = self.model(now, index, member, op);
        (model, self.scripts(now, index, member, op))
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
        let reply = state.apply(now, member, op, &mut publish);
        let Reply::Info(info) = state.apply(now, member, &Op::Inspect, &mut |_, _| false) else {
            panic!("no info");
        };
        outcome(reply, messages, info)
    }

    fn scripts(&mut self, now: u64, index: usize, member: MemberId, op: &Op) -> Outcome {
        let name = &self.names[index].0;
        let bench = &mut *self.bench;
        let mut set = redis::cmd("SET");
        let mut pipeline = set.arg("now").arg(now).get_packed_command();
        for op in [op, &Op::Inspect] {
            pipeline.extend(evaluate(&bench.scripts, member, name, op));
        }
        for suffix in SUFFIXES {
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
            .req_packed_commands(&pipeline, 0, 4 + SUFFIXES.len())
            .unwrap()
            .into_iter()
            .skip(1);
        let mut parsed = || parse(replies.next().unwrap()).unwrap();
        let reply = parsed();
        let Reply::Info(info) = parsed() else {
            panic!("no info");
        };
        for (suffix, lives) in SUFFIXES.iter().zip(replies) {
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
        outcome(reply, messages, info)
    }

    /// The keys of a name that exist, each by its suffix.
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

fn outcome(reply: Reply, mut messages: Vec<(MemberId, Message)>, info: NameRecord) -> Outcome {
    // Holders are told first, and in no particular order.
    messages.sort_by_cached_key(|(member, message)| match message {
        Message::Lost { .. } | Message::Refresh { .. } => format!("{member} {message:?}"),
        Message::Grant { .. } | Message::Near { .. } => "the rest".to_owned(),
    });
    Outcome {
        reply,
        messages,
        info,
    }
}

/// No key without an end, and signals are kept for a day. (Less than is promised, because the clock of the scripts is
/// stepped back now and then, and that of the keys is not.)
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
