//! `auto-mutex show`

use std::io::Write;

use auto_mutex::LockKind;
use auto_mutex::operator::{Hold, Lock, Wait};

use crate::args::{Global, Show};
use crate::exit::{Exit, Failure, Outcome};
use crate::output::json::{self, Shown};
use crate::output::words::{
    Who, clean, date, kicked, location, name, process_and_host, quoted, short, used,
};
use crate::output::{document, table};
use crate::store::{look, subject};

pub(crate) fn run(global: &Global, args: &Show) -> Outcome {
    let operator = look(global)?;
    let lock = subject(&operator, &args.within.name(&args.name))?;
    document(global, &Shown::of(&lock), |out| describe(out, &lock))?;
    Ok(Exit::Done)
}

fn describe(out: &mut impl Write, lock: &Lock) -> Result<(), Failure> {
    let kind = lock.kind.map_or("not in use", json::kind);
    write!(out, "{}  {kind}", name(&lock.name))?;
    if lock.kind.is_some() {
        write!(out, "  {}", used(lock.kind, lock.used, lock.capacity))?;
    }
    if lock.signals > 0 {
        write!(out, "  {} signals", lock.signals)?;
    }
    match lock.token {
        Some(token) => writeln!(out, "  last token {token}")?,
        None => writeln!(out)?,
    }
    if lock.watchers > 0 {
        writeln!(out, "watched by {}", lock.watchers)?;
    }
    let (mut holders, mut waiters) = (HOLDERS, WAITERS);
    let mut titles = ["holders", "waiters"];
    if lock.is_seat() {
        // Each has one unit, and most have a value.
        (holders[0], holders[2], waiters[2]) = ("TERM", "VALUE", "VALUE");
        titles = ["leader", "standbys"];
    }
    if !lock.holders.is_empty() {
        writeln!(out, "\n{}", titles[0])?;
        let rows: Vec<_> = lock.holders.iter().map(|hold| holder(lock, hold)).collect();
        table::write(out, holders, &rows, "  ")?;
    }
    if !lock.waiters.is_empty() {
        writeln!(out, "\n{}", titles[1])?;
        let rows: Vec<_> = lock.waiters.iter().map(|wait| waiter(lock, wait)).collect();
        table::write(out, waiters, &rows, "  ")?;
    }
    if let Some(kicked) = kicked(lock) {
        writeln!(out, "\n{kicked}")?;
    }
    if lock.is_kept() {
        writeln!(
            out,
            "\nkept: no call is inside, and the process gives the lock back as soon as another one asks for it"
        )?;
    } else if let Some(first) = lock.holders.first() {
        writeln!(
            out,
            "\nto {}:  auto-mutex kick {} --token {}",
            match lock.is_seat() {
                true => "depose the leader",
                false => "break a hold",
            },
            quoted(&lock.name),
            first.token
        )?;
    }
    Ok(())
}

const HOLDERS: [&str; 9] = [
    "TOKEN",
    "PROCESS",
    "UNITS",
    "SINCE",
    "HELD",
    "LEASE LEFT",
    "OWNER",
    "SITE",
    "HOLDS TOO",
];

fn holder(lock: &Lock, hold: &Hold) -> [String; 9] {
    let state = match hold.parked {
        true => " (until at_least is over)",
        false => "",
    };
    let (since, held) = match hold.kept {
        true => ("-".to_owned(), "kept".to_owned()),
        false => (date(hold.since), short(hold.held)),
    };
    [
        hold.token.to_string(),
        process_and_host(&hold.who),
        units(lock, hold.units, &hold.value) + state,
        since,
        held,
        short(hold.lease_left),
        owner(&hold.who),
        location(&hold.who),
        holds(&hold.who),
    ]
}

const WAITERS: [&str; 10] = [
    "PLACE", "PROCESS", "UNITS", "CALLS", "STATE", "SINCE", "WAITED", "OWNER", "SITE", "HOLDS",
];

fn waiter(lock: &Lock, wait: &Wait) -> [String; 10] {
    [
        wait.place.to_string(),
        process_and_host(&wait.who),
        units(lock, wait.units, &wait.value),
        wait.calls.to_string(),
        json::state(wait).replace('_', " "),
        date(wait.since),
        short(wait.waited),
        owner(&wait.who),
        location(&wait.who),
        holds(&wait.who),
    ]
}

/// A writer holds all units of a readers-writer lock, a number that only programs need. Of a leader, its value.
fn units(lock: &Lock, units: u32, value: &Option<String>) -> String {
    match lock.kind {
        Some(LockKind::Leader) => or_dash(value.as_deref()),
        Some(LockKind::RwLock) if lock.capacity == Some(units) => "all".to_owned(),
        _ => units.to_string(),
    }
}

/// The locks that the task of this holder or waiter already holds.
fn holds(who: &Who) -> String {
    let holds = who.as_ref().map(|who| {
        who.holds
            .iter()
            .map(|held| name(held))
            .collect::<Vec<_>>()
            .join(" ")
    });
    or_dash(holds.as_deref())
}

fn owner(who: &Who) -> String {
    or_dash(who.as_ref().and_then(|who| who.owner.as_deref()))
}

fn or_dash(text: Option<&str>) -> String {
    clean(text.filter(|text| !text.is_empty()).unwrap_or("-")).into_owned()
}
