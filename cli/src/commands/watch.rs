//! `auto-mutex watch`: the events of a lock, found by polling its state.
//!
//! The store sends messages only to the channels of the members concerned. If this command subscribed to one, the store
//! would mistake it for that member. It therefore polls, and may miss a hold that is shorter than the interval.

use std::collections::HashMap;
use std::io::Write;
use std::thread::sleep;
use std::time::{Duration, SystemTime};

use auto_mutex::operator::{Hold, Kicked, Lock, Wait};
use serde::Serialize;

use crate::args::{Format, Global, Watch};
use crate::exit::{Exit, Failure, Outcome};
use crate::output::json::{self, Process, Versioned, millis};
use crate::output::words::{Who, date, location, process, short};
use crate::output::{is_unread, stdout};
use crate::store::{look, one};

/// An event between two reads.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Event {
    pub(crate) at: String,
    pub(crate) name: String,
    pub(crate) event: &'static str,
    pub(crate) ticket: Option<String>,
    pub(crate) token: Option<String>,
    pub(crate) place: Option<u32>,
    pub(crate) units: Option<u32>,
    pub(crate) held_ms: Option<u64>,
    pub(crate) waited_ms: Option<u64>,
    #[serde(flatten)]
    pub(crate) process: Process,
    #[serde(skip)]
    words: String,
}

pub(crate) fn run(global: &Global, args: &Watch) -> Outcome {
    let operator = look(global)?;
    let name = [args.within.name(&args.name)];
    let mut out = stdout();
    let mut before: Option<Lock> = None;
    let mut left = args.count.unwrap_or(u64::MAX);
    loop {
        let lock = one(operator.inspect(&name)?)?;
        for event in events(before.as_ref(), &lock) {
            if left == 0 {
                break;
            }
            left -= 1;
            write_event(&mut out, global, &event)?;
        }
        out.flush()?;
        if left == 0 {
            return Ok(Exit::Done);
        }
        if is_unread() {
            return Err(Failure::Unread);
        }
        before = Some(lock);
        sleep(args.every.max(Duration::from_millis(20)));
    }
}

fn write_event(out: &mut impl Write, global: &Global, event: &Event) -> Result<(), Failure> {
    match global.output.unwrap_or(Format::Table) {
        Format::Table => Ok(writeln!(
            out,
            "{}  {:8}  {}",
            event.at, event.event, event.words
        )?),
        // A single JSON document would never end, so each event is a document.
        Format::Json | Format::Jsonl => json::write(out, &Versioned::new(event), true),
    }
}

/// The events between two reads: ended holds, then waiters that left, then grants, then new waiters. The first read
/// gives one event per holder and waiter.
pub(crate) fn events(before: Option<&Lock>, after: &Lock) -> Vec<Event> {
    let none = (Vec::new(), Vec::new());
    let (held, waited) = before.map_or(none, |lock| (lock.holders.clone(), lock.waiters.clone()));
    let passed = before.map_or(Duration::ZERO, |lock| {
        let passed = after.asked.duration_since(lock.asked);
        passed.unwrap_or_default()
    });
    // Tokens grow as long as the store knows the name. A smaller one shows that the store has forgotten it.
    let is_forgotten = before.is_some_and(|before| after.token < before.token);
    let is_known = |ticket: &str| {
        let holders = after.holders.iter().map(|hold| &hold.id);
        let mut tickets = holders.chain(after.waiters.iter().map(|wait| &wait.id));
        tickets.any(|known| known == ticket)
    };
    let mut events = Vec::new();
    for hold in &held {
        let again = after.holders.iter().find(|other| other.id == hold.id);
        let ends = again.is_none_or(|again| again.token != hold.token);
        let is_released = again.is_some_and(|again| again.parked && !hold.parked);
        if is_released {
            events.push(of_hold("released", after, hold));
        } else if ends && !hold.parked {
            // If the lease can't have ended yet, the hold was released, or the store has forgotten the lock.
            let is_kicked = |kicked: &Kicked| hold.has_token(kicked.token);
            let word = match hold.lease_left > passed {
                _ if after.kicked.as_ref().is_some_and(is_kicked) => "broken",
                true if is_forgotten => "lost",
                true => "released",
                false => "expired",
            };
            events.push(of_hold(word, after, hold));
        }
    }
    for wait in waited.iter().filter(|wait| !is_known(&wait.id)) {
        events.push(of_wait("left", after, wait));
    }
    let known: HashMap<_, _> = held.iter().map(|hold| (&hold.id, hold.token)).collect();
    for hold in &after.holders {
        if known.get(&hold.id) != Some(&hold.token) && !hold.parked {
            events.push(of_hold("granted", after, hold));
        }
    }
    for wait in &after.waiters {
        if !waited.iter().any(|known| known.id == wait.id) {
            events.push(of_wait("queued", after, wait));
        }
    }
    events
}

fn of_hold(event: &'static str, lock: &Lock, hold: &Hold) -> Event {
    let is_new = event == "granted";
    let held = lock.asked.duration_since(hold.since).unwrap_or_default();
    let what = match is_new {
        true => format!("token {}", hold.token),
        false => format!("held {}", short(held)),
    };
    Event {
        ticket: Some(hold.id.clone()),
        token: Some(hold.token.to_string()),
        units: Some(hold.units),
        held_ms: (!is_new).then(|| millis(held)),
        ..Event::new(event, lock, is_new.then_some(hold.since), &hold.who, &what)
    }
}

fn of_wait(event: &'static str, lock: &Lock, wait: &Wait) -> Event {
    let waited = lock.asked.duration_since(wait.since).unwrap_or_default();
    let at = (event == "queued").then_some(wait.since);
    let what = format!("place {}", wait.place);
    Event {
        ticket: Some(wait.id.clone()),
        place: Some(wait.place),
        units: Some(wait.units),
        waited_ms: Some(millis(waited)),
        ..Event::new(event, lock, at, &wait.who, &what)
    }
}

impl Event {
    /// `at` is `None` for an event since the last read.
    fn new(
        event: &'static str,
        lock: &Lock,
        at: Option<SystemTime>,
        who: &Who,
        what: &str,
    ) -> Self {
        Self {
            at: date(at.unwrap_or(lock.asked)),
            name: lock.name.clone(),
            event,
            process: Process::of(who),
            words: format!("{}  {what}  {}", process(who), location(who)),
            ..Self::default()
        }
    }
}
