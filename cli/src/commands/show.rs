//! `auto-mutex show`

use std::io::Write;

use auto_mutex::operator::Lock;

use crate::args::{Format, Global, Show};
use crate::exit::{Exit, Failure, Outcome};
use crate::output::json::{self, Shown, Versioned};
use crate::output::words::{Who, clean, date, place, process_and_host, quoted, short, used};
use crate::output::{stdout, table};
use crate::store::look;

pub(crate) fn run(global: &Global, args: &Show) -> Outcome {
    let operator = look(global)?;
    let lock = one(operator.inspect(&[args.within.name(&args.name)])?)?;
    let mut out = stdout();
    match global.output.unwrap_or(Format::Table) {
        Format::Table => describe(&mut out, &lock)?,
        format => {
            let document = Versioned::new(Shown::of(&lock));
            json::write(&mut out, &document, format == Format::Jsonl)?;
        }
    }
    out.flush()?;
    Ok(Exit::Done)
}

/// Returns the state of the one lock that was asked for.
pub(crate) fn one(states: Vec<Result<Lock, auto_mutex::LockError>>) -> Result<Lock, Failure> {
    match states.into_iter().next() {
        Some(state) => Ok(state?),
        None => Err(Failure::Other("the store has not answered".to_owned())),
    }
}

fn describe(out: &mut impl Write, lock: &Lock) -> Result<(), Failure> {
    let kind = lock.kind.map_or("not in use", json::kind);
    write!(out, "{}  {kind}", lock.name)?;
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
    if !lock.holders.is_empty() {
        writeln!(out, "\nholders")?;
        table::write(out, &holders(lock), "  ")?;
    }
    if !lock.waiters.is_empty() {
        writeln!(out, "\nwaiters")?;
        table::write(out, &waiters(lock), "  ")?;
    }
    if let Some(first) = lock.holders.first() {
        writeln!(
            out,
            "\nto break a hold:  auto-mutex kick {} --token {}",
            quoted(&lock.name),
            first.token
        )?;
    }
    Ok(())
}

fn holders(lock: &Lock) -> comfy_table::Table {
    let mut table = table::table(&[
        "TOKEN",
        "PROCESS",
        "UNITS",
        "SINCE",
        "HELD",
        "LEASE LEFT",
        "OWNER",
        "SITE",
        "HOLDS TOO",
    ]);
    for hold in &lock.holders {
        let state = if hold.parked {
            " (kept for at_least)"
        } else {
            ""
        };
        table.add_row([
            hold.token.to_string(),
            process_and_host(&hold.who),
            format!("{}{state}", hold.units),
            date(hold.since),
            short(hold.held),
            short(hold.lease_left),
            owner(&hold.who),
            place(&hold.who),
            holds(&hold.who),
        ]);
    }
    table
}

fn waiters(lock: &Lock) -> comfy_table::Table {
    let mut table = table::table(&[
        "PLACE", "PROCESS", "UNITS", "STATE", "SINCE", "WAITED", "OWNER", "SITE", "HOLDS",
    ]);
    for wait in &lock.waiters {
        table.add_row([
            wait.place.to_string(),
            process_and_host(&wait.who),
            wait.units.to_string(),
            json::state(wait).replace('_', " "),
            date(wait.since),
            short(wait.waited),
            owner(&wait.who),
            place(&wait.who),
            holds(&wait.who),
        ]);
    }
    table
}

/// The locks that the task of this holder or waiter already holds.
fn holds(who: &Who) -> String {
    let holds = who.as_ref().map(|who| who.holds.join(" "));
    or_dash(holds.as_deref())
}

fn owner(who: &Who) -> String {
    or_dash(who.as_ref().and_then(|who| who.owner.as_deref()))
}

fn or_dash(text: Option<&str>) -> String {
    clean(text.filter(|text| !text.is_empty()).unwrap_or("-")).into_owned()
}
