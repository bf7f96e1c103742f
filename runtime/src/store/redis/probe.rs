//! A life in miniature on a name of our own: what the user may not do shows at set-up, not under load.

use std::time::Duration;

use super::command::{self, SUFFIXES, Way};
use super::link::Link;
use super::refusal::Refusal;
use super::scripts::Scripts;
use super::{error, reply};
use crate::name::Name;
use crate::store::{MemberId, Mode, Op, Share, Signal, Ticket};

/// One holder, one waiter that is told of its grant, a tombstone that refuses, a signal that is deleted with the name:
/// together they run every command of the scripts.
pub(super) async fn run(
    link: &mut Link,
    scripts: &Scripts,
    member: MemberId,
) -> Result<(), Refusal> {
    let name = Name::from_escaped(&format!(":probe:{member}"));
    let [first, second, signal] = [(); 3].map(|()| Ticket::random());
    let acquire = |ticket| Op::Acquire {
        ticket,
        counter: 1,
        share: Share {
            // One with an owner, so that the state does not fit into the first key.
            owner: if ticket == first { "probe" } else { "" }.into(),
            ..Share::of(1, 1)
        },
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
        acquire(first),
        acquire(second),
        Op::Inspect,
        release(first, true),
        acquire(first),
        release(second, false),
        Op::Signal {
            ticket: signal,
            signal: Signal::Token("probe".into()),
        },
        Op::Delete,
    ];
    let mut pipeline = redis::pipe();
    for op in &life {
        pipeline.add_command(command::evaluate(scripts, member, &name, op, Way::Long));
    }
    let key = command::key(&name);
    let remove = pipeline.cmd("DEL");
    for suffix in SUFFIXES {
        remove.arg(format!("{key}{suffix}"));
    }
    let replies = link.exchange(&pipeline).await;
    let mut replies = replies.map_err(|error| Refusal::of(error::of_client(&error)))?;
    // The last one only tidies up.
    replies.truncate(life.len());
    for (value, op) in replies.into_iter().zip(&life) {
        reply::parse(value, op).map_err(Refusal::of)?;
    }
    Ok(())
}
