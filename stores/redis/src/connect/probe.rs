//! Runs every command of the scripts on a reserved name, so that a missing permission shows at set-up, not under load.

use std::time::Duration;

use auto_mutex_core::store::{Lease, MemberId, Mode, Name, Op, Share, Signal, Ticket};

use super::Connector;
use crate::login::error::{ConnectError, accept};
use crate::login::unsuitable;
use crate::script::reply;
use crate::script::{code, command};
use crate::wire::Connection;

/// Also moves tickets out of the name's first key: see `script/head.lua`.
const SPREAD: Option<(u8, u64)> = Some((code::SPREAD, 0));

/// Reserved, because names of users never begin with a colon. It's short, because its keys are sent often.
pub(crate) fn name(member: MemberId, number: u32) -> Name {
    let member = member.to_string();
    let some = member.get(..6).unwrap_or_default();
    Name::from_escaped(&format!(":p{some}{number}"))
}

pub(super) async fn run(
    connection: &mut Connection,
    connector: &Connector,
    name: &Name,
) -> Result<(), ConnectError> {
    let operations = operations();
    let mut questions = redis::pipe();
    for op in &operations {
        questions.add_command(connector.evaluation(name, SPREAD, op));
    }
    questions.cmd("PING");
    questions.cmd("SCRIPT").arg("LOAD").arg("return 1");
    let mut delete = redis::cmd("DEL");
    // `Op::Delete` leaves the token and a tombstone, so their keys are deleted here.
    for suffix in ["", ":gone"] {
        command::key_of(&mut delete, name, suffix);
    }
    questions.add_command(delete);
    let replicas = connector.guard.options.replicas;
    if replicas.is_some() {
        questions.cmd("WAIT").arg(0).arg(1);
    }
    connection.send(&questions.get_packed_pipeline()).await?;
    let mut result = Ok(());
    for op in &operations {
        let reply = reply::parse(&connection.reply().await?, op);
        result = result.and(reply.map(drop).map_err(ConnectError::of));
    }
    for _ in ["PING", "SCRIPT LOAD"] {
        result = result.and(accept(connection.reply().await?).map(drop));
    }
    connection.reply().await?;
    if replicas.is_some() {
        let waited = accept(connection.reply().await?).map(drop);
        result = result.and(waited.map_err(|error| match error {
            ConnectError::Unsuitable(_, error) => {
                ConnectError::Unsuitable(unsuitable::NO_WAIT.into(), error)
            }
            error => error,
        }));
    }
    result
}

/// These run every command of the scripts: with two holders, a grant by message, a tombstone, and a deleted signal.
fn operations() -> [Op; 10] {
    let [other, first, second, signal] = [(); 4].map(|()| Ticket::random());
    let acquire = |ticket| Op::Acquire {
        lease: Lease::of(ticket, 1, Duration::from_secs(1)),
        share: Share::permits(1, 2),
        mode: Mode::Queue,
        meta: "- 0 probe".into(),
    };
    let release = |ticket, tomb| Op::Release {
        ticket,
        park: Duration::ZERO,
        tomb,
        used: 0,
    };
    [
        acquire(other),
        acquire(first),
        acquire(second),
        Op::Touch {
            lease: Lease::of(second, 2, Duration::from_secs(1)),
            units: 0,
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
    ]
}
