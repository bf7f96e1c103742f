//! Input from a server.

use std::time::Duration;

use auto_mutex_seam::StoreError;
use auto_mutex_seam::store::{
    Lease, Mode, Op, RandomId, Reply, Share, StoreOptions, Ticket, clock, meta, open_message,
};

#[cfg(feature = "cluster")]
pub use crate::cluster::fuzzing::{errors, slots};
use crate::connect::epoch::{self, Epoch, Guard};
use crate::connect::facts::{self, Facts};
use crate::login::hello;
use crate::script::reply;
use crate::wire::Value;
pub(crate) use crate::wire::fuzzing::each;
use crate::{error, route};

/// Messages on a member's channel.
pub fn messages(bytes: &[u8]) {
    each(bytes, |value| {
        let (Value::Push(words) | Value::List(words)) = value else {
            return;
        };
        let ticket = Ticket::parse(&"1".repeat(32));
        if let Some(text) = reply::message(words)
            && let Some((name, told)) = open_message(text, |_, _| ticket)
        {
            let name = name.as_str();
            assert!(!name.is_empty() && !name.contains(' '), "{name} {told:?}");
        }
    });
}

/// Replies to scripts, and to the checks on a new connection.
pub fn replies(bytes: &[u8]) {
    let ops = ops();
    each(bytes, |value| {
        for op in &ops {
            understood(value, op);
            for part in reply::of_both(value.clone(), op) {
                understood(&part, op);
            }
        }
        for in_cluster in [false, true] {
            if let Err(error) = hello::role(value, in_cluster) {
                let _ = format!("{error:?}");
            }
        }
        let guard = guard();
        let lag = epoch::lag(value);
        let _ = (guard.after_restart(lag), guard.after_failover(lag));
        if let Some(mut epoch) = Epoch::read(value, &guard, lag, clock::now()) {
            let _ = format!("{} {epoch:?}", epoch.opens());
        }
        if let Value::List(said) = value {
            let said = said.iter().chain(std::iter::repeat(&Value::Nil)).take(4);
            let mut said = said.map(facts::text).collect();
            if let Some(facts) = Facts::of(&mut said, lag) {
                let _ = facts.guarantees(&guard).to_string();
            }
        }
    });
}

/// Replies of sentinels.
pub fn sentinels(bytes: &[u8]) {
    each(bytes, route::fuzzing::read);
}

pub(crate) fn each_error(bytes: &[u8], mut look: impl FnMut(&StoreError)) {
    each(bytes, |value| {
        if let Value::Error(error) = value {
            error::Code::of(error).ends_connection();
            look(&error::of_server(error));
        }
    });
}

fn understood(value: &Value<'_>, op: &Op) {
    match reply::parse(value, op) {
        Ok(
            Reply::Queued {
                holder: Some(holder),
                ..
            }
            | Reply::Busy {
                holder: Some(holder),
            }
            | Reply::Kept { holder },
        ) => {
            meta::read(&holder);
            meta::owner(&holder.meta);
        }
        Ok(reply) => drop(format!("{reply:?}")),
        Err(error) => drop(error.to_string()),
    }
}

pub(crate) fn guard() -> Guard {
    let options = StoreOptions {
        connect_timeout: Duration::from_secs(10),
        restart_guard: true,
        trust_failover: false,
        longest_lease: Duration::from_secs(10),
        lease: None,
        replicas: None,
        is_voter: false,
    };
    Guard::new(vec!["key".to_owned()], options)
}

fn ops() -> Vec<Op> {
    let ticket = Ticket::random();
    let hold = Duration::from_secs(10);
    vec![
        Op::Acquire {
            lease: Lease::of(ticket, 1, hold),
            share: Share::permits(1, 3),
            mode: Mode::Queue,
            meta: "h 1 s".into(),
        },
        Op::Touch {
            lease: Lease::of(ticket, 2, hold),
            units: 1,
        },
        Op::Release {
            ticket,
            park: Duration::ZERO,
            tomb: true,
            used: 0,
        },
        Op::Delete,
        Op::Inspect { above: 0 },
    ]
}
