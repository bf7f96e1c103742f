//! Checks a server at set-up, so that a missing permission or command is noticed there, not under load. Each client
//! calls the commands of the scripts once. A server's first client also runs the scripts, on a reserved name, and
//! records that in the server's epoch key.

use std::time::Duration;

use auto_mutex_seam::store::{
    Lease, MemberId, Mode, Name, Op, RandomId, Share, Signal, Ticket, lock,
};
use redis::Cmd;

use super::Connector;
use super::facts::Facts;
use crate::error::{self, Code};
use crate::login::error::{ConnectError, NO_WAIT, accept, refused};
use crate::script::reply;
use crate::script::{code, command};
use crate::wire::{Connection, Value};

/// Also moves tickets out of the name's first key: see `script/head.lua`.
const SPREAD: Option<(u8, u64)> = Some((code::SPREAD, 0));

/// The commands that the scripts call, with arguments that change nothing: `K` is a key, `C` a channel, and `E` the
/// epoch key. HSET writes into that, because it has a time to live, even if this process is killed before the HDEL.
const CALLS: &[&str] = &[
    "DEL K",
    "EXISTS K",
    "GET K",
    "HSET E - -",
    "HDEL E -",
    "HGET K -",
    "HLEN K",
    "HMGET K -",
    "INFO -",
    "PEXPIRE K 1",
    "PUBLISH C -",
    "SET K - XX",
    "TIME",
    "ZADD K XX 0 -",
    "ZCARD K",
    "ZRANGE K 0 0",
    "ZRANK K -",
    "ZREM K -",
    "ZREMRANGEBYSCORE K 0 0",
    "ZSCORE K -",
];

/// How long the epoch key lives: see `script/epoch.lua`.
const WEEK_MS: u64 = 604_800_000;

/// Reserved, because names of users never begin with a colon. Short, because its keys are sent often.
pub(crate) fn name(member: MemberId, number: u32) -> Name {
    let member = member.to_string();
    let some = member.get(..6).unwrap_or_default();
    Name::from_escaped(&format!(":p{some}{number}"))
}

/// Also reads the server's settings, in the same round trip. For `lag`, see [`Epoch`](super::epoch::Epoch).
pub(super) async fn run(
    connection: &mut Connection,
    connector: &Connector,
    name: &Name,
    lag: Duration,
) -> Result<Facts, ConnectError> {
    let mut questions = redis::pipe();
    let (process, key) = lock(&connector.guard.keys).of_process();
    // Without a key, the scripts are run, which call the commands.
    let calls = CALLS
        .iter()
        .filter(|call| key.is_some() || !call.contains(" E "));
    for call in calls.clone() {
        questions.add_command(called(call, connector, name, key.as_deref()));
    }
    questions.cmd("PING");
    questions.cmd("SCRIPT").arg("LOAD").arg("return 1");
    let replicas = connector.guard.options.replicas;
    if replicas.is_some() {
        questions.cmd("WAIT").arg(0).arg(1);
    }
    // The field with the process that has run the scripts.
    let [scripts, _] = connector.scripts.digests();
    let field = format!("ran:{scripts}");
    if let Some(key) = &key {
        questions.cmd("HGET").arg(key).arg(&field);
    }
    let mut questions = questions.get_packed_pipeline();
    questions.extend(Facts::question().get_packed_pipeline());
    connection.send(&questions).await?;
    let mut result = Ok(());
    for _ in calls {
        if let Value::Error(error) = connection.reply().await?
            && let code = Code::of(&error)
            && code != Code::Other
            && !code.is_elsewhere()
        {
            result = result.and(Err(refused(error::of_server(&error))));
        }
    }
    for _ in ["PING", "SCRIPT LOAD"] {
        result = result.and(accept(connection.reply().await?).map(drop));
    }
    if replicas.is_some() {
        let waited = accept(connection.reply().await?).map(drop);
        result = result.and(waited.map_err(|error| match error {
            ConnectError::Unsuitable(_, error) => ConnectError::Unsuitable(NO_WAIT.into(), error),
            error => error,
        }));
    }
    let has_run = key.is_some() && connection.reply().await?.as_text() == Some(&process);
    let facts = Facts::read(connection, lag).await?;
    result?;
    if has_run {
        return Ok(facts);
    }
    run_scripts(connection, connector, name).await?;
    let Some(key) = key else {
        return Ok(facts);
    };
    let mut recorded = redis::pipe();
    recorded.cmd("HSET").arg(&key).arg(&field).arg(&process);
    recorded.cmd("PEXPIRE").arg(&key).arg(WEEK_MS);
    connection.send(&recorded.get_packed_pipeline()).await?;
    // If the server refuses these, the next client runs the scripts again.
    for _ in ["HSET", "PEXPIRE"] {
        connection.reply().await?;
    }
    Ok(facts)
}

fn called(call: &str, connector: &Connector, name: &Name, epoch_key: Option<&str>) -> Cmd {
    let mut cmd = Cmd::new();
    for word in call.split(' ') {
        match word {
            "K" => command::key_of(&mut cmd, name, ""),
            "E" => drop(cmd.arg(epoch_key)),
            "C" => drop(cmd.arg(command::channel(connector.member))),
            word => drop(cmd.arg(word)),
        }
    }
    cmd
}

async fn run_scripts(
    connection: &mut Connection,
    connector: &Connector,
    name: &Name,
) -> Result<(), ConnectError> {
    let operations = operations();
    let mut questions = redis::pipe();
    for op in &operations {
        questions.add_command(connector.evaluation(name, SPREAD, op));
    }
    let mut delete = redis::cmd("DEL");
    // `Op::Delete` leaves the token and a tombstone, so their keys are deleted here.
    for suffix in ["", ":gone"] {
        command::key_of(&mut delete, name, suffix);
    }
    questions.add_command(delete);
    connection.send(&questions.get_packed_pipeline()).await?;
    let mut result = Ok(());
    for op in &operations {
        let reply = reply::parse(&connection.reply().await?, op);
        result = result.and(reply.map(drop).map_err(refused));
    }
    connection.reply().await?;
    result
}

/// Run every command of the scripts: two holders, a grant by message, a tombstone, and a deleted signal.
fn operations() -> [Op; 10] {
    let [other, first, second, signal] = [(); 4].map(|()| Ticket::random());
    let acquire = |ticket| Op::Acquire {
        lease: Lease::of(ticket, 1, Duration::from_secs(1)),
        share: Share::permits(1, 2),
        mode: Mode::Queue,
        meta: "- 0 trial".into(),
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
            signal: Signal::Token("trial".into()),
        },
        Op::Delete,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rights;

    #[test]
    fn every_command_of_the_scripts_is_called() {
        let called = CALLS.iter().filter_map(|call| call.split(' ').next());
        let mut called: Vec<_> = called.map(str::to_lowercase).collect();
        called.sort();
        assert!(called.iter().eq(&rights::of_scripts()), "{called:?}");
    }

    #[test]
    fn the_epoch_key_lives_as_long_as_the_script_says() {
        let script = include_str!("../script/epoch.lua");
        assert!(script.contains(&format!("WEEK_MS, DAY_US = {WEEK_MS},")));
    }
}
