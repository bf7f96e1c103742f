//! The format of the vectors, which `docs/vectors/README.md` describes.

use std::collections::HashMap;
use std::time::Duration;

use auto_mutex_difference::START;
use auto_mutex_seam::LockKind;
use auto_mutex_seam::store::{
    HolderRecord, Lease, MemberId, Mode, Name, NameRecord, Op, Reply, Retain, Share, Signal,
    Ticket, TicketRecord, millis,
};
use redis::Cmd;
use serde_json::{Value as Json, json};

use crate::script::command::{self, Part};
use crate::script::{Scripts, code};

/// The fields of each operation, in the order of a step.
pub(super) const FIELDS: &[(&str, &[&str])] = &[
    ("acquire", ACQUIRE),
    ("try", ACQUIRE),
    (
        "touch",
        &[
            "ticket", "counter", "hold_ms", "place_ms", "units", "retain",
        ],
    ),
    ("release", &["ticket", "park_ms", "used", "tomb"]),
    (
        "adopt",
        &["ticket", "counter", "hold_ms", "place_ms", "old", "meta"],
    ),
    ("raise", &["ticket", "token"]),
    ("signal", &["ticket", "kind", "text"]),
    ("force", &[]),
    ("kick", &["token", "by"]),
    ("probe", &["to", "text"]),
    ("inspect", &["above"]),
    ("delete", &[]),
];
const ACQUIRE: &[&str] = &[
    "ticket", "counter", "hold_ms", "place_ms", "units", "capacity", "takes", "retain", "meta",
];

/// What happens in a step, as in the files: tickets and members are numbers.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// A remark about the next steps, for readers.
    Remark(String),
    /// From now on, a member gets its messages, or does not get them.
    Listen { at: i64, member: u64, listens: bool },
    /// A call: one operation, or a release and an acquire.
    Call(Call),
}

#[derive(Clone, Debug)]
pub(super) struct Call {
    /// The server's time, in microseconds since [`START`].
    pub(super) at: i64,
    /// An index into the names of the sequence.
    pub(super) name: usize,
    pub(super) member: u64,
    /// The server grants nothing before this time, in microseconds since [`START`]; 0: it grants.
    pub(super) opens: i64,
    pub(super) ops: Vec<Op>,
}

impl Call {
    pub(super) fn now(&self) -> u64 {
        START.saturating_add_signed(self.at)
    }

    pub(super) fn opens(&self) -> u64 {
        match self.opens {
            0 => 0,
            opens => START.saturating_add_signed(opens),
        }
    }

    /// The command for the server. Of `scripts`, only the digest matters.
    pub(super) fn command(&self, scripts: &Scripts, name: &Name) -> Cmd {
        let first = command::until(self.opens());
        let parts = self.ops.iter().enumerate();
        let parts = parts.map(|(index, op)| {
            let joins = index > 0;
            Part { name, op, joins }
        });
        command::evaluate(&mut Cmd::new(), scripts, member(self.member), first, parts).take()
    }

    /// The key and the arguments of the command.
    pub(super) fn arguments(&self, name: &Name) -> Vec<Vec<u8>> {
        let cmd = self.command(&Scripts::of(false), name);
        let words = cmd.args_iter().map(|word| match word {
            redis::Arg::Simple(bytes) => bytes.to_vec(),
            other => panic!("{other:?}"),
        });
        words.skip(3).collect()
    }
}

/// The checksum of a command: the CRC-32 (as in zip and zlib) of its key and arguments, one after the other.
pub(super) fn checksum(arguments: &[Vec<u8>]) -> String {
    let mut crc = !0u32;
    for byte in arguments.concat() {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
        }
    }
    format!("{:08x}", !crc)
}

/// The ids of the files: the number in 16 digits, with leading zeros, once for each half of a ticket.
pub(super) fn ticket(number: u64) -> Ticket {
    Ticket::parse(&format!("{number:016}{number:016}")).expect("digits")
}

pub(super) fn member(number: u64) -> MemberId {
    MemberId::parse(&format!("{number:032}")).expect("digits")
}

fn number_of(id: impl std::fmt::Display) -> u64 {
    id.to_string()[16..].parse().expect("digits")
}

/// Gives the ids of a run small numbers, in order of their first use.
#[derive(Default)]
pub(super) struct Numbers {
    tickets: HashMap<Ticket, u64>,
    members: HashMap<MemberId, u64>,
}

impl Numbers {
    pub(super) fn ticket(&mut self, id: Ticket) -> Ticket {
        let next = self.tickets.len() as u64 + 1;
        ticket(*self.tickets.entry(id).or_insert(next))
    }

    /// The numbers of members begin at 1001, above those of tickets.
    pub(super) fn member(&mut self, id: MemberId) -> u64 {
        let next = self.members.len() as u64 + 1001;
        *self.members.entry(id).or_insert(next)
    }

    pub(super) fn op(&mut self, op: &Op) -> Op {
        let mut op = op.clone();
        match &mut op {
            Op::Acquire { lease, .. } | Op::Touch { lease, .. } => {
                lease.ticket = self.ticket(lease.ticket);
            }
            Op::Adopt { old, lease, .. } => {
                lease.ticket = self.ticket(lease.ticket);
                *old = self.ticket(*old);
            }
            Op::Release { ticket, .. } | Op::Raise { ticket, .. } | Op::Signal { ticket, .. } => {
                *ticket = self.ticket(*ticket);
            }
            Op::Probe { to, .. } => *to = member(self.member(*to)),
            Op::Force | Op::Kick { .. } | Op::Delete | Op::Inspect { .. } => {}
        }
        op
    }
}

/// Returns the name of an operation and its fields.
pub(super) fn of_op(op: &Op) -> (&'static str, Json) {
    let leased = |lease: &Lease| {
        let (hold, place) = (millis(lease.hold), millis(lease.place));
        [number_of(lease.ticket), lease.counter, hold, place].map(Json::from)
    };
    let (name, fields) = match op {
        Op::Acquire {
            lease,
            share,
            mode,
            meta,
        } => {
            let rest = [
                json!(share.units),
                json!(share.capacity),
                json!(u8::from(share.takes())),
                json!(lease.retain as u8),
                json!(&**meta),
            ];
            let name = match mode {
                Mode::Queue => "acquire",
                Mode::Try => "try",
            };
            (name, leased(lease).into_iter().chain(rest).collect())
        }
        Op::Touch { lease, units } => (
            "touch",
            leased(lease)
                .into_iter()
                .chain([json!(units), json!(lease.retain as u8)])
                .collect(),
        ),
        Op::Release {
            ticket,
            park,
            tomb,
            used,
        } => (
            "release",
            json!([number_of(ticket), millis(*park), used, u8::from(*tomb)]),
        ),
        Op::Adopt { old, lease, meta } => {
            let rest = [json!(number_of(old)), json!(&**meta)];
            ("adopt", leased(lease).into_iter().chain(rest).collect())
        }
        Op::Raise { ticket, token } => ("raise", json!([number_of(ticket), token])),
        Op::Signal { ticket, signal } => {
            let (kind, text) = match signal {
                Signal::Token(text) => ("token", &**text),
                Signal::One => ("one", ""),
                Signal::All => ("all", ""),
            };
            ("signal", json!([number_of(ticket), kind, text]))
        }
        Op::Force => ("force", json!([])),
        Op::Kick { token, by } => ("kick", json!([token, &**by])),
        Op::Probe { to, text } => ("probe", json!([number_of(to), &**text])),
        Op::Inspect { above } => ("inspect", json!([above])),
        Op::Delete => ("delete", json!([])),
    };
    (name, fields)
}

/// The inverse of [`of_op`].
pub(super) fn op(name: &str, fields: &Json) -> Op {
    let (_, names) = FIELDS.iter().find(|(of, _)| *of == name).expect(name);
    let values = fields.as_array().expect("a list");
    assert_eq!(values.len(), names.len(), "{name}: {fields}");
    let field = |wanted: &str| {
        let index = names.iter().position(|name| *name == wanted);
        &values[index.expect(wanted)]
    };
    let number = |name| field(name).as_u64().expect(name);
    let small = |name| u32::try_from(number(name)).expect(name);
    let text = |name| field(name).as_str().expect(name).to_owned();
    let time = |name| Duration::from_millis(number(name));
    let lease = || Lease {
        ticket: ticket(number("ticket")),
        counter: number("counter"),
        hold: time("hold_ms"),
        place: time("place_ms"),
        retain: match names.contains(&"retain").then(|| number("retain")) {
            None | Some(0) => Retain::No,
            Some(1) => Retain::InUse,
            other => {
                assert_eq!(other, Some(2), "{name}: {fields}");
                Retain::Kept
            }
        },
    };
    match name {
        "acquire" | "try" => Op::Acquire {
            lease: lease(),
            share: Share {
                // Of the kind, the store learns only whether the ticket accepts signals.
                kind: match number("takes") {
                    0 => LockKind::Mutex,
                    _ => LockKind::Condvar,
                },
                units: small("units"),
                capacity: small("capacity"),
            },
            mode: match name {
                "try" => Mode::Try,
                _ => Mode::Queue,
            },
            meta: text("meta").into(),
        },
        "touch" => Op::Touch {
            lease: lease(),
            units: small("units"),
        },
        "release" => Op::Release {
            ticket: ticket(number("ticket")),
            park: time("park_ms"),
            tomb: number("tomb") == 1,
            used: number("used"),
        },
        "adopt" => Op::Adopt {
            old: ticket(number("old")),
            lease: lease(),
            meta: text("meta").into(),
        },
        "raise" => Op::Raise {
            ticket: ticket(number("ticket")),
            token: number("token"),
        },
        "signal" => Op::Signal {
            ticket: ticket(number("ticket")),
            signal: match &*text("kind") {
                "token" => Signal::Token(text("text").into()),
                "one" => Signal::One,
                "all" => Signal::All,
                other => panic!("{other}"),
            },
        },
        "force" => Op::Force,
        "kick" => Op::Kick {
            token: number("token"),
            by: text("by").into(),
        },
        "probe" => Op::Probe {
            to: member(number("to")),
            text: text("text").into(),
        },
        "inspect" => Op::Inspect {
            above: small("above"),
        },
        "delete" => Op::Delete,
        other => panic!("{other}"),
    }
}

/// The code of an operation in a command.
pub(super) fn code_of(name: &str) -> u8 {
    let name = name.to_uppercase();
    let (_, code) = code::ALL.iter().find(|(of, _)| *of == name).expect("known");
    *code
}

/// Returns a reply as the scripts give it.
pub(super) fn of_reply(op: &Op, reply: &Reply) -> Json {
    let with_holder = |words: String, holder: &Option<HolderRecord>| match holder {
        Some(holder) => json!(format!("{words} {} {}", holder.token, &*holder.meta)),
        None => json!(words),
    };
    match reply {
        Reply::Granted { token, signal } => match signal {
            Some(text) => json!([token.to_string(), &**text]),
            None => json!(token),
        },
        Reply::Released { free } => json!(free),
        Reply::Queued {
            position,
            again,
            holder,
        } => with_holder(format!("QUEUED {position} {}", again.as_millis()), holder),
        Reply::Busy { holder } => with_holder("BUSY".into(), holder),
        Reply::Kept { holder } => with_holder("KEPT".into(), &Some(holder.clone())),
        Reply::Refused => json!("REFUSED"),
        Reply::TooMany => json!("TOO_MANY"),
        Reply::Mismatch { capacity, takes } => {
            json!(format!("MISMATCH {capacity} {}", u8::from(*takes)))
        }
        Reply::Gone => json!("GONE"),
        Reply::Cancelled => json!("CANCELLED"),
        Reply::Count(count) => {
            let word = match op {
                Op::Force | Op::Kick { .. } => "FREED",
                Op::Probe { .. } => "TOLD",
                Op::Signal { .. } => "SIGNALLED",
                Op::Delete => "DELETED",
                other => panic!("{other:?}"),
            };
            json!(format!("{word} {count}"))
        }
        Reply::InUse { holders, waiters } => json!(format!("IN_USE {holders} {waiters}")),
        Reply::Info(info) => of_info(info),
    }
}

fn of_info(info: &NameRecord) -> Json {
    let ticket = |ticket: &TicketRecord| {
        let waits = ticket.token == 0;
        json!([
            ticket.ticket.to_string(),
            ticket.member.to_string(),
            ticket.units,
            u8::from(ticket.takes),
            // The place of a waiter may differ by microseconds.
            (!waits).then(|| ticket.since.to_string()),
            ticket.token.to_string(),
            &*ticket.meta,
            ticket.left.as_micros().to_string(),
            match (ticket.parked, ticket.passed_over, ticket.kept) {
                (true, _, _) => Some(2),
                (_, true, _) => Some(3),
                (_, _, true) => Some(4),
                // Whether a holder has claimed its grant shows only here, and only on Redis.
                _ => waits.then_some(0),
            },
        ])
    };
    let tickets = |all: &[TicketRecord]| all.iter().map(ticket).collect::<Vec<_>>();
    json!([
        "INFO",
        info.token.to_string(),
        info.capacity
            .map_or_else(|| json!(""), |capacity| json!(capacity)),
        info.used,
        info.signals,
        u8::from(info.exists),
        tickets(&info.holders),
        tickets(&info.waiters),
        info.kick.as_ref().map_or_else(String::new, |kick| {
            format!("{} {} {}", kick.at, kick.token, &*kick.by)
        }),
    ])
}

/// The result of a call: the reply, or both replies, and the messages in order.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) reply: Json,
    pub(super) messages: Vec<(u64, String)>,
}

impl Outcome {
    /// Sorts messages whose order is not fixed: those of a force to the holders, which come first.
    pub(super) fn sorted(mut self) -> Self {
        self.messages.sort_by_key(|(member, text)| {
            text.starts_with("lost ")
                .then(|| (*member, text.clone()))
                .map_or((1, 0, String::new()), |(member, text)| (0, member, text))
        });
        self
    }
}

/// Whether `found` is the reply `expected`, in which `null` stands for anything.
pub(super) fn fits(expected: &Json, found: &Json) -> bool {
    match (expected, found) {
        (Json::Null, _) => true,
        (Json::Array(expected), Json::Array(found)) => {
            let mut both = expected.iter().zip(found);
            expected.len() == found.len() && both.all(|(expected, found)| fits(expected, found))
        }
        (expected, found) => expected == found,
    }
}

/// The line of a step.
pub(super) fn line(step: &Step, names: &[Name], outcome: Option<&Outcome>) -> String {
    let call = match step {
        Step::Remark(text) => return json!(text).to_string(),
        Step::Listen {
            at,
            member,
            listens,
        } => {
            let what = if *listens { "listen" } else { "ignore" };
            return json!([at, member, what]).to_string();
        }
        Step::Call(call) => call,
    };
    let outcome = outcome.expect("the outcome of a call");
    let ops: Vec<_> = call.ops.iter().map(of_op).collect();
    let (op, fields) = match &ops[..] {
        [(name, fields)] => (json!(name), fields.clone()),
        all => {
            let names: Vec<_> = all.iter().map(|(name, _)| *name).collect();
            let fields: Vec<_> = all.iter().map(|(_, fields)| fields.clone()).collect();
            (json!(names), json!(fields))
        }
    };
    let crc = checksum(&call.arguments(&names[call.name]));
    let mut line = json!([
        call.at,
        call.member,
        call.name,
        op,
        fields,
        outcome.reply,
        outcome.messages,
        crc
    ]);
    if call.opens != 0 {
        line.as_array_mut().expect("a list").push(json!(call.opens));
    }
    line.to_string()
}

/// The inverse of [`line`].
pub(super) fn step(line: &Json) -> (Step, Option<(Outcome, String)>) {
    if let Some(text) = line.as_str() {
        return (Step::Remark(text.to_owned()), None);
    }
    let words = line.as_array().expect("a list");
    let at = words[0].as_i64().expect("a time");
    let member = words[1].as_u64().expect("a member");
    if let Some(what) = words[2].as_str() {
        let listens = what == "listen";
        return (
            Step::Listen {
                at,
                member,
                listens,
            },
            None,
        );
    }
    let ops = match &words[3] {
        Json::String(name) => vec![op(name, &words[4])],
        names => {
            let names = names.as_array().expect("names").iter();
            let fields = words[4].as_array().expect("fields");
            names
                .zip(fields)
                .map(|(name, fields)| op(name.as_str().expect("a name"), fields))
                .collect()
        }
    };
    let messages = words[6].as_array().expect("messages").iter();
    let outcome = Outcome {
        reply: words[5].clone(),
        messages: messages
            .map(|message| {
                let text = message[1].as_str().expect("a text");
                (message[0].as_u64().expect("a member"), text.to_owned())
            })
            .collect(),
    };
    let call = Call {
        at,
        name: words[2].as_u64().expect("a name") as usize,
        member,
        opens: words
            .get(8)
            .map_or(0, |opens| opens.as_i64().expect("a time")),
        ops,
    };
    let crc = words[7].as_str().expect("a checksum").to_owned();
    (Step::Call(call), Some((outcome, crc)))
}
