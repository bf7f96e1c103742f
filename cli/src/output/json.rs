//! The JSON documents, whose fields follow semantic versioning. `schema/auto-mutex.schema.json` describes them.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::time::Duration;

use auto_mutex::LockKind;
use auto_mutex::operator::{self, Hold, Lock, Wait};
use serde::Serialize;

use super::words::{Who, date};
use crate::exit::Failure;

/// The version of the documents. It increases with changes that could break a reader.
pub(crate) const SCHEMA_VERSION: u32 = 1;

/// Writes one document and a line break. With `in_one_line`, the document itself contains no line break.
pub(crate) fn write(
    out: &mut impl Write,
    value: &impl Serialize,
    in_one_line: bool,
) -> Result<(), Failure> {
    match in_one_line {
        true => serde_json::to_writer(&mut *out, value)?,
        false => serde_json::to_writer_pretty(&mut *out, value)?,
    }
    Ok(out.write_all(b"\n")?)
}

/// Writes an error for programs to standard error.
pub(crate) fn complain(failure: &Failure) {
    #[derive(Serialize)]
    struct Failed {
        error: String,
        exit_code: u8,
    }
    let failed = Failed {
        error: failure.to_string(),
        exit_code: failure.code(),
    };
    let _ = write(&mut io::stderr(), &Versioned::new(failed), true);
}

/// `{"NAME":[…]}`
pub(crate) fn list<'a, T>(name: &'a str, items: &'a [T]) -> BTreeMap<&'a str, &'a [T]> {
    [(name, items)].into()
}

/// A document that begins with the version.
#[derive(Debug, Serialize)]
pub(crate) struct Versioned<T> {
    schema_version: u32,
    #[serde(flatten)]
    document: T,
}

impl<T> Versioned<T> {
    pub(crate) fn new(document: T) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            document,
        }
    }
}

/// A lock in a list.
#[derive(Debug, Serialize)]
pub(crate) struct Listed {
    pub(crate) name: String,
    pub(crate) kind: Option<&'static str>,
    pub(crate) capacity: Option<u32>,
    pub(crate) used: u64,
    pub(crate) holders: usize,
    pub(crate) waiters: u64,
    pub(crate) oldest_wait_ms: Option<u64>,
    pub(crate) held_ms: Option<u64>,
    /// Its holder keeps it between calls, which doesn't count for `held_ms`.
    pub(crate) kept: bool,
}

impl Listed {
    pub(crate) fn of(lock: &Lock) -> Self {
        Self {
            name: lock.name.clone(),
            kind: lock.kind.map(kind),
            capacity: lock.capacity,
            used: lock.used,
            holders: lock.holders.len(),
            waiters: lock.waiting(),
            oldest_wait_ms: lock.oldest_wait().map(millis),
            held_ms: lock.held().map(millis),
            kept: lock.is_kept(),
        }
    }
}

/// All details of one lock.
#[derive(Debug, Serialize)]
pub(crate) struct Shown {
    pub(crate) name: String,
    pub(crate) kind: Option<&'static str>,
    pub(crate) capacity: Option<u32>,
    pub(crate) used: u64,
    /// Tokens are strings, because many JSON parsers round numbers above 2^53.
    pub(crate) token: Option<String>,
    pub(crate) signals: u64,
    pub(crate) kicked: Option<LastKick>,
    pub(crate) holders: Vec<Holder>,
    pub(crate) waiters: Vec<Waiter>,
}

impl Shown {
    pub(crate) fn of(lock: &Lock) -> Self {
        Self {
            name: lock.name.clone(),
            kind: lock.kind.map(kind),
            capacity: lock.capacity,
            used: lock.used,
            token: lock.token.map(|token| token.to_string()),
            signals: lock.signals,
            kicked: lock.kicked.as_ref().map(LastKick::of),
            holders: lock.holders.iter().map(Holder::of).collect(),
            waiters: lock.waiters.iter().map(Waiter::of).collect(),
        }
    }
}

/// A seat, and who leads.
#[derive(Debug, Serialize)]
pub(crate) struct Seat {
    pub(crate) name: String,
    pub(crate) leader: Option<Leader>,
    pub(crate) standbys: Vec<Standby>,
    pub(crate) watchers: usize,
}

#[derive(Debug, Serialize)]
pub(crate) struct Leader {
    pub(crate) term: String,
    pub(crate) value: String,
    pub(crate) since: String,
    pub(crate) leads_ms: u64,
    pub(crate) lease_left_ms: u64,
    #[serde(flatten)]
    pub(crate) process: Process,
}

#[derive(Debug, Serialize)]
pub(crate) struct Standby {
    pub(crate) place: u32,
    pub(crate) value: String,
    pub(crate) since: String,
    pub(crate) stands_ms: u64,
    #[serde(flatten)]
    pub(crate) process: Process,
}

impl Seat {
    pub(crate) fn of(seat: &Lock) -> Self {
        let leader = |hold: &Hold| Leader {
            term: hold.token.to_string(),
            value: hold.value.clone().unwrap_or_default(),
            since: date(hold.since),
            leads_ms: millis(hold.held),
            lease_left_ms: millis(hold.lease_left),
            process: Process::of(&hold.who),
        };
        let standby = |wait: &Wait| Standby {
            place: wait.place,
            value: wait.value.clone().unwrap_or_default(),
            since: date(wait.since),
            stands_ms: millis(wait.waited),
            process: Process::of(&wait.who),
        };
        Self {
            name: seat.name.clone(),
            leader: seat.leader().map(leader),
            standbys: seat.waiters.iter().map(standby).collect(),
            watchers: seat.watchers,
        }
    }
}

/// The last hold broken by a kick, and who broke it.
#[derive(Debug, Serialize)]
pub(crate) struct LastKick {
    at: String,
    token: String,
    #[serde(flatten)]
    by: Process,
}

impl LastKick {
    fn of(kicked: &operator::Kicked) -> Self {
        Self {
            at: date(kicked.at),
            token: kicked.token.to_string(),
            by: Process::of(&kicked.by),
        }
    }
}

/// A process, and the site in its program that asked for the lock.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Process {
    pub(crate) host: String,
    /// The pod, if it differs from the host.
    pub(crate) pod: Option<String>,
    pub(crate) pid: u32,
    pub(crate) site: String,
    pub(crate) file: Option<String>,
    pub(crate) line: Option<u32>,
    pub(crate) owner: Option<String>,
    pub(crate) holds: Vec<String>,
}

impl Process {
    pub(crate) fn of(who: &Who) -> Self {
        let Some(who) = who.clone() else {
            return Self::default();
        };
        let (file, line) = (who.file().map(str::to_owned), who.line());
        let path = who.site.rsplit_once(" at ").filter(|_| file.is_some());
        Self {
            site: path.map_or(&*who.site, |(path, _)| path).to_owned(),
            file,
            line,
            host: who.host,
            pod: who.pod,
            pid: who.pid,
            owner: who.owner,
            holds: who.holds,
        }
    }
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Holder {
    pub(crate) ticket: String,
    pub(crate) token: String,
    pub(crate) units: u32,
    pub(crate) since: String,
    pub(crate) held_ms: u64,
    pub(crate) lease_left_ms: u64,
    pub(crate) kept: bool,
    /// Only of a leader.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) value: Option<String>,
    #[serde(flatten)]
    pub(crate) process: Process,
}

impl Holder {
    pub(crate) fn of(hold: &Hold) -> Self {
        Self {
            ticket: hold.id.clone(),
            token: hold.token.to_string(),
            units: hold.units,
            since: date(hold.since),
            held_ms: millis(hold.held),
            lease_left_ms: millis(hold.lease_left),
            kept: hold.kept,
            value: hold.value.clone(),
            process: Process::of(&hold.who),
        }
    }
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Waiter {
    pub(crate) place: u32,
    pub(crate) ticket: String,
    pub(crate) state: &'static str,
    pub(crate) units: u32,
    pub(crate) calls: u32,
    pub(crate) since: String,
    pub(crate) waited_ms: u64,
    /// Only of a standby.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) value: Option<String>,
    #[serde(flatten)]
    pub(crate) process: Process,
}

impl Waiter {
    pub(crate) fn of(wait: &Wait) -> Self {
        Self {
            place: wait.place,
            ticket: wait.id.clone(),
            state: state(wait),
            units: wait.units,
            calls: wait.calls,
            since: date(wait.since),
            waited_ms: millis(wait.waited),
            value: wait.value.clone(),
            process: Process::of(&wait.who),
        }
    }
}

/// The state of a waiter: see [`Wait::passed_over`].
pub(crate) fn state(wait: &Wait) -> &'static str {
    match wait.passed_over {
        true => "passed_over",
        false => "waiting",
    }
}

pub(crate) fn kind(kind: LockKind) -> &'static str {
    match kind {
        LockKind::Mutex => "mutex",
        LockKind::Semaphore => "semaphore",
        LockKind::RwLock => "rw_lock",
        LockKind::Condvar => "condvar",
        LockKind::Leader => "leader",
        _ => "other",
    }
}

pub(crate) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
