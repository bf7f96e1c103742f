//! A life in miniature on a name of our own: what the user may not do shows at set-up, not under load.

use std::time::Duration;

use super::command;
use super::error;
use super::loading;
use super::refusal::Refusal;
use super::reply;
use super::scripts::Scripts;
use super::wire::{self, Connection, Value};
use crate::name::Name;
use crate::store::{MemberId, Mode, Op, Share, Signal, Ticket};

/// A name for a member's life. Users cannot have one that begins with a colon. Short, since each of its keys is sent often; and
/// nothing is wrong if two members meet there.
pub(in crate::store) fn name(member: MemberId, number: u32) -> Name {
    let member = member.to_string();
    let some = member.get(..6).unwrap_or_default();
    Name::from_escaped(&format!(":p{some}{number}"))
}

/// Two holders, one waiter that is told of its grant, a tombstone that refuses, a signal that is deleted with the name:
/// together they run every command of the scripts.
pub(super) async fn run(
    connection: &mut Connection,
    scripts: &Scripts,
    member: MemberId,
    name: &Name,
) -> Result<(), Refusal> {
    let [other, first, second, signal] = [(); 4].map(|()| Ticket::random());
    let acquire = |ticket| Op::Acquire {
        ticket,
        counter: 1,
        share: Share::of(1, 2),
        hold: Duration::from_secs(1),
        place: Duration::from_secs(1),
        mode: Mode::Queue,
        meta: "- 0 probe".into(),
    };
    let release = |ticket, tomb| Op::Release {
        ticket,
        park: Duration::ZERO,
        tomb,
        used: 0,
    };
    let life = [
        acquire(other),
        acquire(first),
        acquire(second),
        Op::Touch {
            ticket: second,
            counter: 2,
            units: 0,
            hold: Duration::from_secs(1),
            place: Duration::from_secs(1),
        },
        release(first, true),
        acquire(first),
        release(other, false),
        release(second, false),
        Op::Signal {
            ticket: signal,
            signal: Signal::Token("probe".into()),
        },
        Op::Delete,
    ];
    let mut questions = Vec::new();
    for op in &life {
        command::evaluate_spread(&mut questions, scripts, member, name, op);
    }
    // What keeps an idle connection alive; and what is done only where scripts are missing.
    wire::command(&mut questions, |words| words.text("PING"));
    loading::load(&mut questions, "return 1");
    wire::command(&mut questions, |words| {
        words.text("DEL");
        // All that is left of a name that was deleted: its token, and a tombstone.
        for suffix in ["", ":gone"] {
            command::key_of(words, name, suffix);
        }
    });
    let lost = |error| Refusal::of_socket(&error);
    connection.send(&questions).await.map_err(lost)?;
    let mut result = Ok(());
    for op in &life {
        let reply = reply::parse(&connection.reply().await.map_err(lost)?, op);
        result = result.and(reply.map(drop));
    }
    for _ in ["PING", "SCRIPT LOAD"] {
        if let Value::Error(error) = connection.reply().await.map_err(lost)? {
            result = result.and(Err(error::of_server(&error)));
        }
    }
    // This one only tidies up.
    connection.reply().await.map_err(lost)?;
    result.map_err(Refusal::of)
}
