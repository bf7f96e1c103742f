//! Entry points for the fuzzers: they read input as it comes from a server. See `crate::fuzzing`.

use std::time::Duration;

use super::connect::facts::Facts;
use super::connect::hello;
use super::term::{self, Guard, Term};
use super::{TermKeys, error, push, reply, route};
use crate::clock::Instant;
use crate::error::StoreError;
use crate::store::{Lease, Meta, Mode, Op, Reply, Share, Ticket};
use crate::wire::Value;
pub(in crate::store) use crate::wire::fuzzing::each;
pub(crate) use crate::wire::fuzzing::resp;

pub(crate) fn messages(bytes: &[u8]) {
    each(bytes, |value| {
        let (Value::Push(words) | Value::List(words)) = value else {
            return;
        };
        if let Some((name, told)) = push::read(words) {
            let name = name.as_str();
            assert!(!name.is_empty() && !name.contains(' '), "{name} {told:?}");
        }
    });
}

pub(crate) fn replies(bytes: &[u8]) {
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
        let lag = term::lag(value);
        let _ = (guard.after_restart(lag), guard.after_failover(lag));
        if let Some(mut term) = Term::read(value, &guard, lag, Instant::now()) {
            let _ = format!("{} {term:?}", term.opens());
        }
        if let Value::List(said) = value {
            let _ = Facts::of(said, lag).guarantees(&guard, 1).to_string();
        }
    });
}

pub(crate) fn sentinels(bytes: &[u8]) {
    each(bytes, route::read);
}

pub(in crate::store) fn errors(bytes: &[u8], mut look: impl FnMut(&StoreError)) {
    each(bytes, |value| {
        if let Value::Error(error) = value {
            error::Code::of(error).ends_connection();
            look(&error::of_server(error));
        }
    });
}

fn understood(value: &Value<'_>, op: &Op) {
    match reply::parse(value, op) {
        Ok(Reply::Queued { holder, .. } | Reply::Busy { holder }) => {
            if let Some(holder) = holder {
                Meta::read(&holder);
                Meta::owner(&holder.meta);
            }
        }
        Ok(reply) => drop(format!("{reply:?}")),
        Err(error) => drop(error.to_string()),
    }
}

fn guard() -> Guard {
    Guard {
        keys: TermKeys::new(vec!["key".to_owned()]),
        restart: true,
        replicated: true,
        failover: true,
        longest_lease: Duration::from_secs(10),
    }
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
        Op::Inspect,
    ]
}
