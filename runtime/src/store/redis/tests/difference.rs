//! The scripts and the reference model, driven with the same random operations at the same times: every reply,
//! every message and every state must be the same.
//!
//! `AUTO_MUTEX_SEED=n` replays one run, `AUTO_MUTEX_RUNS=n` makes more of them.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use redis::{Connection, Msg, PubSub};

use super::super::command::{channel, evaluate};
use super::super::message::{self, Push};
use super::super::reply;
use super::super::scripts::Scripts;
use super::server::{LONG, Server, attempt, immortal, run};
use crate::name::Name;
use crate::store::memory::state::State;
use crate::store::{MemberId, Message, Mode, Op, Reply, Share, Ticket};

const RUNS: u64 = 60;
const STEPS: u32 = 250;
const START: u64 = 1_795_000_000_000_000;

/// The scripts' source of time for this test.
const CLOCK: &str = "local function clock() return tonumber(redis.call('GET', 'now')) end\n";

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }

    fn millis(&mut self, choices: &[u64]) -> Duration {
        Duration::from_millis(self.of(choices))
    }
}

/// One name in both worlds.
struct Both {
    now: u64,
    name: Name,
    model: State,
    scripts: Scripts,
    connection: Connection,
    ears: PubSub<'static>,
    listening: HashSet<MemberId>,
}

impl Both {
    fn apply(&mut self, member: MemberId, op: &Op) -> (Reply, Reply, Vec<Message>, Vec<Message>) {
        let mut expected_messages = Vec::new();
        let listening = &self.listening;
        let mut publish = |member: MemberId, message: Message| {
            let heard = listening.contains(&member);
            if heard {
                expected_messages.push(message);
            }
            heard
        };
        let expected = self.model.apply(self.now, member, op, &mut publish);
        run::<()>(&mut self.connection, &["SET", "now", &self.now.to_string()]);
        let cmd = evaluate(&self.scripts, member, &self.name, op);
        let found = reply::parse(attempt(&mut self.connection, &cmd)).unwrap();
        let mut found_messages = self.heard();
        // Holders of one name are told in no particular order.
        let order = |message: &Message| format!("{message:?}");
        expected_messages.sort_by_key(order);
        found_messages.sort_by_key(order);
        (expected, found, expected_messages, found_messages)
    }

    /// What was published since the last time.
    fn heard(&mut self) -> Vec<Message> {
        run::<()>(&mut self.connection, &["PUBLISH", "end", "-"]);
        let mut messages = Vec::new();
        loop {
            let message: Msg = self.ears.get_message().unwrap();
            if message.get_channel_name() == "end" {
                return messages;
            }
            let push = redis::PushInfo {
                kind: redis::PushKind::Message,
                data: vec![
                    redis::Value::Nil,
                    redis::Value::BulkString(message.get_payload_bytes().to_vec()),
                ],
            };
            match message::read(&push) {
                Push::Told(name, message) => {
                    assert_eq!(name, self.name);
                    messages.push(message);
                }
                other => panic!("{other:?}"),
            }
        }
    }

    fn listen(&mut self, member: MemberId, listens: bool) {
        if listens && self.listening.insert(member) {
            self.ears.subscribe(channel(member)).unwrap();
        } else if !listens && self.listening.remove(&member) {
            self.ears.unsubscribe(channel(member)).unwrap();
        }
    }
}

/// In a crowd leases are long and little time passes, so that the queue grows.
fn random_op(random: &mut Random, crowd: bool, tickets: &[Ticket], counter: u64) -> Op {
    let ticket = random.of(tickets);
    let (holds, places): (&[u64], &[u64]) = if crowd {
        (&[2_500, 10_000], &[5_000, 10_000, 30_000])
    } else {
        (
            &[1, 500, 1_000, 3_000, 10_000, 10_000],
            &[2, 300, 1_000, 5_000, 10_000, 30_000],
        )
    };
    let hold = random.millis(holds);
    let place = random.millis(places);
    match random.below(21) {
        0..9 => {
            let capacity = random.of(&[1, 1, 1, 1, 4]);
            let units = match random.below(12) {
                0 => capacity + 1,
                1..6 => capacity,
                _ => 1,
            };
            Op::Acquire {
                ticket,
                counter,
                share: Share::of(units, capacity),
                hold,
                place,
                mode: if random.one_in(4) {
                    Mode::Try
                } else {
                    Mode::Queue
                },
                meta: "host 12 a%20site".into(),
            }
        }
        9..15 => Op::Touch {
            ticket,
            counter,
            units: 0,
            hold,
            place,
        },
        15..19 => Op::Release {
            ticket,
            park: if random.one_in(6) {
                random.millis(&[1, 800, 20_000, 2_000_000])
            } else {
                Duration::ZERO
            },
            tomb: random.one_in(6),
            used: 0,
        },
        19 => Op::Adopt {
            old: random.of(tickets),
            ticket,
            counter,
            hold,
            place,
            meta: "host 34 another".into(),
        },
        _ => Op::Force {
            owner: Arc::default(),
        },
    }
}

fn advance(random: &mut Random, crowd: bool, now: u64) -> u64 {
    let forth: &[u64] = if crowd {
        &[0, 1, 1_000, 10_000, 50_000, 200_000, 200_000, 900_000]
    } else {
        &[
            0, 0, 1, 999, 10_000, 300_000, 300_000, 700_000, 1_000_000, 2_000_001, 4_000_000,
        ]
    };
    match random.below(60) {
        0 if !crowd => now + 31_000_000,
        1 => now - random.of(&[1, 500_000, 3_000_000, 40_000_000]),
        _ => now + random.of(forth),
    }
}

/// Adds the kinds of replies and messages to `seen`.
fn one_run(server: &Server, seed: u64, seen: &mut HashSet<String>) {
    let mut random = Random(seed);
    let crowd = seed.is_multiple_of(2);
    let members: Vec<_> = (0..3).map(|_| MemberId::random()).collect();
    let tickets: Vec<_> = (0..12).map(|_| Ticket::random()).collect();
    // Held for as long as the process lives: PubSub borrows its connection.
    let ears: &'static mut Connection = Box::leak(Box::new(server.connection()));
    let mut ears = ears.as_pubsub();
    ears.set_read_timeout(Some(LONG)).unwrap();
    ears.subscribe("end").unwrap();
    let scripts = Scripts::on_clock(CLOCK);
    let mut connection = server.connection();
    for text in scripts.texts() {
        run::<()>(&mut connection, &["SCRIPT", "LOAD", text]);
    }
    let mut both = Both {
        now: START,
        name: Name::from_escaped(&format!("difference:{seed}")),
        model: State::default(),
        scripts,
        connection,
        ears,
        listening: HashSet::new(),
    };
    for &member in &members {
        both.listen(member, true);
    }
    let mut ends = Vec::new();
    for step in 0..STEPS {
        both.now = match &ends {
            // Exactly when something ends.
            ends if !ends.is_empty() && random.one_in(8) => random.of(ends),
            _ => advance(&mut random, crowd, both.now),
        };
        if random.one_in(20) {
            let listens = !random.one_in(2);
            both.listen(random.of(&members), listens);
        }
        let ticket_count = if !crowd && random.one_in(3) {
            2
        } else {
            tickets.len()
        };
        // Now and then a late copy of something sent earlier.
        let counter = u64::from(step) + if random.one_in(8) { 0 } else { 10 };
        let op = random_op(&mut random, crowd, &tickets[..ticket_count], counter);
        // A ticket belongs to one member; sometimes a stranger asks.
        let home = op
            .ticket()
            .and_then(|own| tickets.iter().position(|ticket| *ticket == own));
        let member = match home {
            Some(index) if !random.one_in(15) => members[index % members.len()],
            _ => random.of(&members),
        };
        let at = format!(
            "AUTO_MUTEX_SEED={seed} step {step} at {} {member:?} {op:?}",
            both.now.cast_signed() - START.cast_signed()
        );
        let (expected, found, expected_messages, found_messages) = both.apply(member, &op);
        seen.insert(format!("{} {}", kind(&op), kind(&found)));
        seen.extend(found_messages.iter().map(kind));
        assert_eq!(found, expected, "reply: {at}");
        assert_eq!(found_messages, expected_messages, "messages: {at}");
        let (expected, found, ..) = both.apply(member, &Op::Inspect);
        assert_eq!(found, expected, "state after: {at}");
        if let Reply::Info(info) = found {
            let records = info.holders.iter().chain(&info.waiters);
            ends = records
                .map(|record| both.now + record.left.as_micros() as u64)
                .collect();
        }
        let key = super::super::command::key(&both.name);
        let immortal = immortal(&mut both.connection, &key);
        assert!(immortal.is_empty(), "{immortal:?} after: {at}");
    }
}

/// The name of a variant.
fn kind(value: &impl std::fmt::Debug) -> String {
    let text = format!("{value:?}");
    let end = text.find(|c: char| !c.is_alphanumeric());
    text[..end.unwrap_or(text.len())].to_owned()
}

#[test]
fn the_scripts_do_what_the_model_does() {
    let number = |variable| {
        std::env::var(variable)
            .ok()
            .map(|text| text.parse::<u64>().unwrap())
    };
    let server = Server::start();
    let mut seen = HashSet::new();
    if let Some(seed) = number("AUTO_MUTEX_SEED") {
        return one_run(&server, seed, &mut seen);
    }
    for seed in 1..=number("AUTO_MUTEX_RUNS").unwrap_or(RUNS) {
        one_run(&server, seed, &mut seen);
    }
    let mut seen: Vec<_> = seen.iter().map(String::as_str).collect();
    seen.sort_unstable();
    let all = [
        "Acquire Busy",
        "Acquire Granted",
        "Acquire Mismatch",
        "Acquire Queued",
        "Acquire Refused",
        "Acquire TooMany",
        "Adopt Gone",
        "Adopt Granted",
        "Adopt Queued",
        "Adopt Refused",
        "Force Freed",
        "Grant",
        "Lost",
        "Near",
        "Release Cancelled",
        "Release Gone",
        "Release Released",
        "Touch Gone",
        "Touch Granted",
        "Touch Queued",
    ];
    assert_eq!(seen, all);
}
