//! `auto-mutex why`

use std::io::Write;

use auto_mutex::operator::{Chain, Lock};

use super::tree::{exit, warn};
use crate::args::{Global, Why};
use crate::exit::{Failure, Outcome};
use crate::output::words::{clean, closed_for, kicked, location, name, process, short};
use crate::output::{chain, complain, document, json};
use crate::store::{in_use, look, subject};

/// What the lock store doesn't know.
const UNSEEN: &str = "(Not visible here: other waits, such as for a database row, a reply, or a lock in another store.)";

pub(crate) fn run(global: &Global, args: &Why) -> Outcome {
    let operator = look(global)?;
    let mut locks = in_use(&operator, "*")?;
    let subject = subject(&operator, &args.within.name(&args.subject))?;
    let (whole, is_in_use) = (subject.name.clone(), subject.is_in_use());
    let kicked = kicked(&subject);
    // The lock may have been used since.
    locks.retain(|lock| lock.name != whole && !lock.waiters.is_empty());
    locks.push(subject);
    let waits = operator.waits(locks)?;
    // The name of a lock may look like HOST:PID.
    let process = process_of(&args.subject);
    let mut chains = waits.to_waiters(|who| {
        process.is_some_and(|(machine, pid)| {
            who.pid == pid && (who.host == machine || who.pod.as_deref() == Some(machine))
        })
    });
    if chains.is_empty() && (process.is_none() || is_in_use) {
        chains.extend(waits.to_lock(&whole));
    }
    for server in operator.servers()?.into_iter().flatten() {
        if let Some(left) = server.closed_for {
            complain(&format!("{} {}", server.address, closed_for(left)));
        }
    }
    let documents: Vec<_> = chains.iter().map(chain::Chain::of).collect();
    document(global, &json::list("chains", &documents), |out| {
        if chains.is_empty() {
            writeln!(out, "{} waits for no lock.", clean(&args.subject))?;
        }
        chains.iter().try_for_each(|chain| explain(out, chain))?;
        if !chains.iter().any(|chain| chain.cycle) {
            writeln!(out, "{UNSEEN}")?;
        }
        if let Some(kicked) = kicked {
            writeln!(out, "{kicked}")?;
        }
        Ok(())
    })?;
    Ok(exit(&chains))
}

/// Splits `HOST:PID` or `POD:PID`.
fn process_of(subject: &str) -> Option<(&str, u32)> {
    let (machine, pid) = subject.rsplit_once(':')?;
    Some((machine, pid.parse().ok()?))
}

fn explain(out: &mut impl Write, chain: &Chain<'_>) -> Result<(), Failure> {
    warn(out, chain)?;
    let Some(first) = chain.hops.first() else {
        return Ok(());
    };
    match first.holder {
        Some(hold) => {
            let (who, site, held) = (process(&hold.who), location(&hold.who), short(hold.held));
            let name = name(&first.lock.name);
            let state = match hold.parked {
                true => " (released, but its at_least is not over)",
                false => "",
            };
            let waits = match chain.cycle || chain.possible {
                true => "",
                false => ", and waits for no lock",
            };
            match hold.kept {
                true => writeln!(out, "{who} keeps {name}, and no call is inside: {site}")?,
                false => {
                    let holds = holds(first.lock);
                    writeln!(out, "{who} {holds} {name} for {held}{state}{waits}: {site}")?;
                }
            }
        }
        None => writeln!(out, "Nobody holds {}.", name(&first.lock.name))?,
    }
    for (index, hop) in chain.hops.iter().enumerate() {
        let shown = name(&hop.lock.name);
        let Some(wait) = hop.waiter else {
            writeln!(out, "Nobody waits for {shown}.")?;
            continue;
        };
        let (who, waited, count) = (
            process(&wait.who),
            short(wait.waited),
            hop.lock.waiters.len(),
        );
        let waits = match hop.lock.is_seat() {
            true => "stands by to lead",
            false => "waits for",
        };
        write!(
            out,
            "{who} {waits} {shown} for {waited}, at place {} of {count}",
            wait.place
        )?;
        if let Some(next) = chain.hops.get(index + 1)
            && let Some(hold) = next.holder
        {
            let task = if next.possible {
                " (perhaps in another task)"
            } else {
                ""
            };
            write!(
                out,
                ", and {} {} for {}{task}",
                holds(next.lock),
                name(&next.lock.name),
                short(hold.held)
            )?;
        }
        writeln!(out, ": {}", location(&wait.who))?;
    }
    Ok(())
}

fn holds(lock: &Lock) -> &'static str {
    match lock.is_seat() {
        true => "leads",
        false => "holds",
    }
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
