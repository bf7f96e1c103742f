//! `auto-mutex why`

use std::io::Write;

use auto_mutex::operator::{Hold, Lock, Wait};

use super::show::one;
use super::tree::{Chains, waited_for};
use crate::args::{Format, Global, Why};
use crate::chains::{Document, Graph, Hop, Party, first_holder, party};
use crate::exit::{Exit, Failure, Outcome};
use crate::output::json::{self, Versioned};
use crate::output::words::{Who, clean, closed_for, place, process, short};
use crate::output::{Progress, complain, stdout};
use crate::store::look;

/// One step of a chain: a lock, its holder, and a waiter for this lock.
type Step<'a> = (&'a Lock, Option<&'a Hold>, Option<&'a Wait>);

pub(crate) fn run(global: &Global, args: &Why) -> Outcome {
    let operator = look(global)?;
    let locks = waited_for(&operator, &Progress::new())?;
    let graph = Graph::new(&locks);
    // The name of a lock may look like HOST:PID. If a process with this host and id is known, the command explains the
    // process.
    let asked = process_of(&args.subject);
    let process = asked.and_then(|(machine, pid)| known(&locks, machine, pid));
    let subject;
    let (steps, cycle) = match process {
        Some(who) => {
            let (path, cycle) = graph.path_to(who);
            (steps_of(path), cycle)
        }
        None => {
            subject = one(operator.inspect(&[args.within.name(&args.subject)])?)?;
            let (mut steps, mut cycle) = (Vec::new(), false);
            if let Some(holder) = first_holder(&subject) {
                let (path, round) = graph.path_to(party(&holder.who));
                (steps, cycle) = (steps_of(path), round);
            }
            if asked.is_none() || subject.is_in_use() {
                steps.push((&subject, first_holder(&subject), subject.waiters.first()));
            }
            (steps, cycle)
        }
    };
    for server in operator.servers()?.into_iter().flatten() {
        if let Some(left) = server.closed_for {
            complain(&format!("{} {}", server.address, closed_for(left)));
        }
    }
    let mut out = stdout();
    match global.output.unwrap_or(Format::Table) {
        Format::Table => explain(&mut out, &args.subject, &steps, cycle)?,
        format => {
            let hops = steps.iter().enumerate();
            let hops = hops.map(|(depth, step)| Hop::of(depth, step.0, step.1, step.2));
            let chain = Document {
                cycle,
                hops: hops.collect(),
            };
            let document = Versioned::new(Chains {
                chains: vec![chain],
            });
            json::write(&mut out, &document, format == Format::Jsonl)?;
        }
    }
    out.flush()?;
    Ok(if cycle { Exit::Finding } else { Exit::Done })
}

fn steps_of<'a>(path: Vec<(&'a Lock, &'a Wait, &'a Hold)>) -> Vec<Step<'a>> {
    let steps = path.into_iter();
    steps
        .map(|(lock, wait, hold)| (lock, Some(hold), Some(wait)))
        .collect()
}

/// Splits `HOST:PID` or `POD:PID`.
fn process_of(subject: &str) -> Option<(&str, u32)> {
    let (machine, pid) = subject.rsplit_once(':')?;
    Some((machine, pid.parse().ok()?))
}

/// Finds the process with this id on this host or in this pod, among the holders and waiters of `locks`.
fn known<'a>(locks: &'a [Lock], machine: &str, pid: u32) -> Option<Party<'a>> {
    let mut all = locks.iter().flat_map(|lock| {
        let holders = lock.holders.iter().map(|hold| &hold.who);
        holders.chain(lock.waiters.iter().map(|wait| &wait.who))
    });
    let asked = |who: &&Who| {
        let (host, pod, known) = party(who);
        known == pid && (host == machine || pod == Some(machine))
    };
    all.find(asked).map(party)
}

fn explain(
    out: &mut impl Write,
    subject: &str,
    steps: &[Step<'_>],
    cycle: bool,
) -> Result<(), Failure> {
    if cycle {
        writeln!(
            out,
            "CYCLE: each of these waits for the one before; a deadlock, if the same tasks hold and wait"
        )?;
    }
    let Some(first) = steps.first() else {
        return Ok(writeln!(out, "{} waits for nobody.", clean(subject))?);
    };
    match first.1 {
        Some(hold) => {
            let kept = if hold.parked {
                " (released, and kept for its at_least)"
            } else {
                ""
            };
            let waits = if cycle { "" } else { ", and waits for nobody" };
            writeln!(
                out,
                "{} holds {} for {}{kept}{waits}: {}",
                process(&hold.who),
                first.0.name,
                short(hold.held),
                place(&hold.who)
            )?;
        }
        None => writeln!(out, "Nobody holds {}.", first.0.name)?,
    }
    for (index, (lock, _, wait)) in steps.iter().enumerate() {
        let Some(wait) = wait else {
            writeln!(out, "Nobody waits for {}.", lock.name)?;
            continue;
        };
        write!(
            out,
            "{} waits for {} for {}, at place {} of {}",
            process(&wait.who),
            lock.name,
            short(wait.waited),
            wait.place,
            lock.waiters.len()
        )?;
        if let Some((next, Some(hold), _)) = steps.get(index + 1) {
            write!(out, ", and holds {} for {}", next.name, short(hold.held))?;
        }
        writeln!(out, ": {}", place(&wait.who))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::process_of;

    #[test]
    fn a_process_has_a_host_and_a_number() {
        assert_eq!(process_of("web-3:4711"), Some(("web-3", 4711)));
        assert_eq!(process_of("orders:a"), None);
        assert_eq!(process_of("orders"), None);
    }
}
