//! `auto-mutex kick`

use std::io::{self, Write};

use auto_mutex::operator::{Hold, Lock};
use rustix::process::getuid;
use serde::Serialize;

use crate::args::{Format, Global, Kick};
use crate::exit::{Exit, Failure, Outcome};
use crate::output::json::{Holder, Waiter};
use crate::output::words::{location, name, process, process_and_host, short};
use crate::output::{self, Out, document};
use crate::store::{look, one};

/// The document: the hold that was broken or, with `--dry-run`, would be.
#[derive(Debug, Serialize)]
struct KickReport {
    name: String,
    token: String,
    dry_run: bool,
    kicked: bool,
    holder: Option<Holder>,
    next: Option<Waiter>,
}

pub(crate) fn run(global: &Global, args: &Kick) -> Outcome {
    let operator = look(global)?;
    let lock = one(operator.inspect(&[args.within.name(&args.name)])?)?;
    let is_for_people = global.output.unwrap_or(Format::Table) == Format::Table;
    let hold = lock.holders.iter().find(|hold| hold.has_token(args.token));
    let Some(hold) = hold else {
        complain(&lock, args.token);
        let reported = report(global, args, &lock, None, false);
        return finished(reported, Exit::Precondition);
    };
    let must_ask = !args.yes && !args.dry_run;
    if is_for_people || must_ask {
        let described = describe(&lock, hold);
        if must_ask {
            described.map_err(cannot_ask)?;
        }
    }
    if args.dry_run {
        report(global, args, &lock, Some(hold), false)?;
        return Ok(Exit::Done);
    }
    if must_ask && !is_confirmed().map_err(cannot_ask)? {
        return Err(Failure::Other(
            "not confirmed: nothing was changed".to_owned(),
        ));
    }
    let kicked = operator.kick_by(&lock.name, args.token, &by())?;
    if !kicked {
        output::complain(&format!(
            "{} was released meanwhile: nothing was changed",
            name(&lock.name)
        ));
    }
    finished(
        report(global, args, &lock, Some(hold), kicked),
        match kicked {
            true => Exit::Done,
            false => Exit::Precondition,
        },
    )
}

/// What the store records about the kick besides the process.
fn by() -> String {
    let name = ["SUDO_USER", "USER", "LOGNAME"]
        .iter()
        .find_map(|name| std::env::var(name).ok());
    let name = name.filter(|name| !name.is_empty());
    let user = name.unwrap_or_else(|| format!("user {}", getuid().as_raw()));
    format!("{user} with auto-mutex kick")
}

/// Returns the exit code of the kick, even if the output has no reader.
fn finished(reported: Result<(), Failure>, exit: Exit) -> Outcome {
    match reported {
        Ok(()) | Err(Failure::Unread) => Ok(exit),
        Err(failure) => Err(failure),
    }
}

/// The failure if the user cannot be asked for confirmation. A plain conversion of `error` would make a broken pipe a
/// success.
fn cannot_ask(error: io::Error) -> Failure {
    Failure::Other(format!("cannot ask, so nothing was changed: {error}"))
}

fn complain(lock: &Lock, token: u64) {
    let held = lock
        .holders
        .iter()
        .map(|hold| format!("{} with token {}", process(&hold.who), hold.token));
    let held: Vec<_> = held.collect();
    let held = match held.is_empty() {
        true => "nobody holds it".to_owned(),
        false => format!("it is held by {}", held.join(", ")),
    };
    output::complain(&format!(
        "nobody holds {} with token {token}: {held}",
        name(&lock.name)
    ));
}

/// Writes the holder and the consequences to standard error.
fn describe(lock: &Lock, hold: &Hold) -> io::Result<()> {
    let mut out = io::stderr().lock();
    let (name, who) = (name(&lock.name), process_and_host(&hold.who));
    match hold.kept {
        true => writeln!(out, "{name} is kept by {who}, and no call is inside")?,
        false => writeln!(out, "{name} is held by {who} for {}", short(hold.held))?,
    }
    writeln!(out, "  {}", location(&hold.who))?;
    writeln!(
        out,
        "  token {}, lease left {}",
        hold.token,
        short(hold.lease_left)
    )?;
    let follows = match hold.kept {
        true => "its next call asks the store again. A call that has just begun loses its guard.",
        false if lock.is_seat() => {
            "its term is lost: an async body is cancelled at its next await, and a blocking one runs on until it checks. The next leader does not wait for that, as it would after a resignation or SIGTERM; the kicked process stands again as the last one."
        }
        false => {
            "its guard is lost, an async body is cancelled at its next await, and a blocking one runs on until it checks. The protected resource may be in use for a moment longer."
        }
    };
    writeln!(out, "What follows: {follows}")?;
    match lock.waiters.first() {
        Some(next) => writeln!(
            out,
            "Next in line: {}, after {}.",
            process(&next.who),
            short(next.waited)
        )?,
        None => writeln!(out, "No process waits.")?,
    }
    Ok(())
}

fn is_confirmed() -> io::Result<bool> {
    write!(io::stderr(), "Type yes to break this hold: ")?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(answer.trim() == "yes")
}

fn report(
    global: &Global,
    args: &Kick,
    lock: &Lock,
    hold: Option<&Hold>,
    kicked: bool,
) -> Result<(), Failure> {
    let kicked_hold = KickReport {
        name: lock.name.clone(),
        token: args.token.to_string(),
        dry_run: args.dry_run,
        kicked,
        holder: hold.map(Holder::of),
        next: lock.waiters.first().map(Waiter::of),
    };
    let for_people = |out: &mut Out| {
        match hold {
            Some(hold) if kicked => {
                let (name, process) = (name(&lock.name), process(&hold.who));
                writeln!(out, "broken: {name} of {process}")?;
            }
            Some(_) if args.dry_run => writeln!(out, "nothing was changed (--dry-run)")?,
            _ => {}
        }
        Ok(())
    };
    document(global, &kicked_hold, for_people)
}
