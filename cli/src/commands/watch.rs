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
        let is_kept = again.is_some_and(|again| again.kept);
        if is_released {
            events.push(of_hold("released", after, hold));
        } else if is_kept && !hold.kept {
            events.push(of_hold("kept", after, hold));
        } else if hold.kept && again.is_some() {
            // The token grows each time that the process says that it keeps the lock.
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
    let known: HashMap<_, _> = held.iter().map(|hold| (&hold.id, hold)).collect();
    for hold in &after.holders {
        let earlier = known.get(&hold.id);
        let goes_on = earlier.is_some_and(|it| it.token == hold.token && !it.kept);
        match hold.kept {
            true if earlier.is_none() => events.push(of_hold("kept", after, hold)),
            false if !goes_on && !hold.parked => events.push(of_hold("granted", after, hold)),
            _ => {}
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
    let has_length = !is_new && !hold.kept;
    let what = match has_length {
        false => format!("token {}", hold.token),
        true => format!("held {}", short(held)),
    };
    Event {
        ticket: Some(hold.id.clone()),
        token: Some(hold.token.to_string()),
        units: Some(hold.units),
        held_ms: has_length.then(|| millis(held)),
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

#[cfg(test)]
mod tests {
    use auto_mutex::Client;
    use auto_mutex::operator::Operator;

    use super::*;

    #[test]
    fn a_lock_that_is_kept_for_longer_is_no_event() {
        let store = "memory://a-lock-that-is-kept";
        let client = Client::connect(store).unwrap();
        let _guard = client.mutex("m").blocking_lock().unwrap();
        let held = one(Operator::connect(store).unwrap().inspect(&["m"]).unwrap()).unwrap();
        // Its process says so again and again, each time with a greater token.
        let kept = |ago: u64| {
            let mut lock = held.clone();
            let hold = &mut lock.holders[0];
            (hold.kept, hold.token) = (true, hold.token + ago);
            lock
        };
        let words = |before: Option<&Lock>, after: &Lock| {
            let events = events(before, after);
            events.iter().map(|event| event.event).collect::<Vec<_>>()
        };
        assert_eq!(words(None, &held), ["granted"]);
        assert_eq!(words(Some(&held), &kept(1)), ["kept"]);
        assert_eq!(words(Some(&kept(1)), &kept(2)), [""; 0]);
        assert_eq!(words(None, &kept(1)), ["kept"]);
        // A call that is inside when the lock is recalled gets no new token.
        assert_eq!(words(Some(&kept(0)), &held), ["granted"]);
        let mut free = held.clone();
        free.holders.clear();
        assert_eq!(words(Some(&kept(1)), &free), ["released"]);
    }
}
