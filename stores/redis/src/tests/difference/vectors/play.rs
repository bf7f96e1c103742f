//! Plays sequences: by the rules, or on a server with the scripts.

use std::collections::HashSet;

use auto_mutex_seam::store::{Env, LIMITS, MemberId, Name, Op, RandomId, State, Ticket, seal};
use redis::{Cmd, Connection, PubSub, Value};
use serde_json::{Value as Json, json};

use super::format::{Call, Outcome, Step, member, of_reply};
use super::make::Sequence;
use crate::script::Scripts;
use crate::script::command::{self, Part, channel};
use crate::tests::key;
use crate::tests::ops::touch;
use crate::tests::server::{CLOCK, Server, attempt, run};

/// Executes sequences.
pub(super) trait Player {
    fn begin(&mut self, sequence: &Sequence);
    fn listen(&mut self, member: u64, listens: bool);
    fn call(&mut self, sequence: &Sequence, call: &Call) -> Outcome;

    /// Plays a sequence from its beginning. Returns the outcomes of its calls; a step that is no call has none.
    fn play(&mut self, sequence: &Sequence) -> Vec<Option<Outcome>> {
        self.begin(sequence);
        let outcomes = sequence.steps.iter().map(|step| match step {
            Step::Remark(_) => None,
            Step::Listen {
                member, listens, ..
            } => {
                self.listen(*member, *listens);
                None
            }
            Step::Call(call) => Some(self.call(sequence, call).sorted()),
        });
        outcomes.collect()
    }
}

/// The rules in Rust.
#[derive(Default)]
pub(super) struct Model {
    names: Vec<State>,
    listening: HashSet<MemberId>,
}

impl Player for Model {
    fn begin(&mut self, sequence: &Sequence) {
        self.names = vec![State::default(); sequence.names.len()];
        self.listening.clear();
    }

    fn listen(&mut self, number: u64, listens: bool) {
        match listens {
            true => self.listening.insert(member(number)),
            false => self.listening.remove(&member(number)),
        };
    }

    fn call(&mut self, sequence: &Sequence, call: &Call) -> Outcome {
        let name = &sequence.names[call.name];
        let hears = |to| self.listening.contains(&to);
        let env = Env {
            now: call.now(),
            grants_from: call.opens(),
            member: member(call.member),
            limits: &LIMITS,
            hears: &hears,
        };
        let mut messages = Vec::new();
        let state = &mut self.names[call.name];
        let replies = call.ops.iter();
        let replies = replies.map(|op| of_reply(op, &state.on(op, &env, &mut messages)));
        let replies = replies.collect();
        messages.retain(|(to, _)| hears(*to));
        let messages = messages.iter().map(|(to, message)| {
            let number = to.to_string().parse().expect("digits");
            (number, seal(name, message))
        });
        Outcome {
            reply: one_or_all(replies),
            messages: messages.collect(),
        }
    }
}

/// A server with the scripts.
pub(super) struct Real {
    scripts: Scripts,
    connection: Connection,
    ears: PubSub<'static>,
    calls: u32,
}

impl Real {
    pub(super) fn start(server: &Server) -> Self {
        Self::with(server, Scripts::made_of(CLOCK, false))
    }

    /// Replaces `part` of the scripts by `other`.
    pub(super) fn edited(server: &Server, part: &str, other: &str) -> Self {
        Self::with(server, Scripts::made_of(CLOCK, false).edited(part, other))
    }

    fn with(server: &Server, scripts: Scripts) -> Self {
        let mut connection = server.connection();
        for text in scripts.texts() {
            run::<()>(&mut connection, &["SCRIPT", "LOAD", text]);
        }
        // The connection is kept for as long as the process lives, because PubSub borrows it.
        let ears: &'static mut Connection = Box::leak(Box::new(server.connection()));
        let mut ears = ears.as_pubsub();
        ears.subscribe("end").expect("a subscription");
        Self {
            scripts,
            connection,
            ears,
            calls: 0,
        }
    }

    /// Every second call is in one command with an operation on a foreign key.
    fn run(&mut self, call: &Call, name: &Name) -> Value {
        self.calls += 1;
        if !self.calls.is_multiple_of(2) {
            let command = call.command(&self.scripts, name);
            return attempt(&mut self.connection, &command.get_packed_command());
        }
        let odd = Name::from_escaped("odd");
        run::<()>(&mut self.connection, &["SET", &key(&odd), "somebody's"]);
        let foreign = Part {
            name: &odd,
            op: &touch(Ticket::random()),
            joins: false,
        };
        let own = call.ops.iter().enumerate().map(|(index, op)| Part {
            name,
            op,
            joins: index > 0,
        });
        let parts = std::iter::once(foreign).chain(own);
        let first = command::until(call.opens());
        let mut cmd = Cmd::new();
        command::evaluate(&mut cmd, &self.scripts, member(call.member), first, parts);
        match attempt(&mut self.connection, &cmd.get_packed_command()) {
            Value::Array(mut both) if both.len() == 2 => both.remove(1),
            other => other,
        }
    }
}

impl Player for Real {
    fn begin(&mut self, _: &Sequence) {
        run::<()>(&mut self.connection, &["FLUSHALL"]);
        self.ears.punsubscribe("*").expect("an answer");
        let ears = &mut self.ears;
        let members = (1001..1020).map(member).map(channel);
        members.for_each(|channel| ears.unsubscribe(channel).expect("an answer"));
    }

    fn listen(&mut self, number: u64, listens: bool) {
        let channel = channel(member(number));
        let listened = match listens {
            true => self.ears.subscribe(channel),
            false => self.ears.unsubscribe(channel),
        };
        listened.expect("an answer");
    }

    fn call(&mut self, sequence: &Sequence, call: &Call) -> Outcome {
        let now = call.now().to_string();
        run::<()>(&mut self.connection, &["SET", "now", &now]);
        let reply = self.run(call, &sequence.names[call.name]);
        run::<()>(&mut self.connection, &["PUBLISH", "end", ""]);
        let mut messages = Vec::new();
        loop {
            let message = self.ears.get_message().expect("a message");
            let channel = message.get_channel_name();
            if channel == "end" {
                break;
            }
            let digits = channel.rsplit(':').next().expect("an id");
            let text: String = message.get_payload().expect("a text");
            messages.push((digits.parse().expect("digits"), text));
        }
        let reply = match (&call.ops[..], of_value(&reply)) {
            // A release and an acquire may have the token alone as their reply.
            ([_, Op::Acquire { share, .. }], Json::Number(token)) => json!([share.capacity, token]),
            (_, reply) => reply,
        };
        Outcome { reply, messages }
    }
}

fn of_value(value: &Value) -> Json {
    match value {
        Value::Int(number) => json!(number),
        Value::BulkString(bytes) => json!(String::from_utf8_lossy(bytes)),
        Value::Array(items) => items.iter().map(of_value).collect(),
        other => json!(format!("{other:?}")),
    }
}

fn one_or_all(mut replies: Vec<Json>) -> Json {
    match replies.len() {
        1 => replies.remove(0),
        _ => Json::Array(replies),
    }
}
