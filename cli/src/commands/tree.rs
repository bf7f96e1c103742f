//! `auto-mutex tree`

use std::io::Write;

use auto_mutex::operator::{Chain, Hop};

use crate::args::Global;
use crate::exit::{Exit, Failure, Outcome};
use crate::output::words::{location, name, process, short};
use crate::output::{chain, list};
use crate::store::{in_use, look, waits};

/// How many waiters of a lock are always shown. Others are shown only if they block others.
const SHOWN: usize = 5;

pub(crate) fn run(global: &Global) -> Outcome {
    let operator = look(global)?;
    let waits = waits(&operator, &in_use(&operator, "*")?)?;
    let chains = waits.chains();
    let documents: Vec<_> = chains.iter().map(chain::Chain::of).collect();
    list(global, "chains", &documents, |out| {
        if chains.is_empty() {
            writeln!(out, "Nobody waits.")?;
        }
        chains.iter().try_for_each(|chain| draw(out, chain))
    })?;
    Ok(exit(&chains))
}

/// A cycle is a finding; a possible one is not.
pub(crate) fn exit(chains: &[Chain<'_>]) -> Exit {
    match chains.iter().any(|chain| chain.cycle) {
        true => Exit::Finding,
        false => Exit::Done,
    }
}

/// Says what a cycle means.
pub(crate) fn warn(out: &mut impl Write, chain: &Chain<'_>) -> Result<(), Failure> {
    if chain.cycle {
        writeln!(out, "CYCLE: these tasks wait for each other, a deadlock")?;
    } else if chain.possible {
        writeln!(
            out,
            "Possible cycle: a deadlock only if the same tasks of these processes hold and wait"
        )?;
    }
    Ok(())
}

fn draw(out: &mut impl Write, chain: &Chain<'_>) -> Result<(), Failure> {
    warn(out, chain)?;
    match chain.hops.first().and_then(|hop| hop.holder) {
        Some(root) => writeln!(out, "{}  {}", process(&root.who), location(&root.who))?,
        None => writeln!(out, "nobody")?,
    }
    locks(out, &chain.hops, "")
}

/// `hops` have this depth or a greater one.
fn locks(out: &mut impl Write, hops: &[Hop<'_>], indent: &str) -> Result<(), Failure> {
    let depth = hops.first().map_or(0, |hop| hop.depth);
    let waiters: Vec<_> = hops.chunk_by(|_, next| next.depth > depth).collect();
    let mut locks = waiters
        .chunk_by(|a, b| a[0].lock.name == b[0].lock.name)
        .peekable();
    while let Some(waiters) = locks.next() {
        let (corner, bar) = match locks.peek() {
            None => ("└─ ", "   "),
            Some(_) => ("├─ ", "│  "),
        };
        let hop = &waiters[0][0];
        let kind = hop
            .lock
            .kind
            .map(|kind| kind.to_string())
            .unwrap_or_default();
        let (verb, waits) = match hop.lock.is_seat() {
            true => ("led", "standing by"),
            false => ("held", "waiting"),
        };
        let held = match hop.holder {
            None => format!("{verb} by nobody"),
            Some(hold) if hold.kept => "kept".to_owned(),
            Some(hold) => format!("{verb} {}", short(hold.held)),
        };
        let by = if hop.possible { " by some task" } else { "" };
        let (name, count) = (name(&hop.lock.name), hop.lock.waiters.len());
        writeln!(
            out,
            "{indent}{corner}{name} ({kind}), {held}{by}, {count} {waits}"
        )?;
        self::waiters(out, waiters, &format!("{indent}{bar}"))?;
    }
    Ok(())
}

fn waiters(out: &mut impl Write, waiters: &[&[Hop<'_>]], indent: &str) -> Result<(), Failure> {
    let mut left_out = 0;
    for (index, hops) in waiters.iter().enumerate() {
        let (Some(wait), below) = (hops[0].waiter, &hops[1..]) else {
            continue;
        };
        if index >= SHOWN && below.is_empty() {
            left_out += 1;
            continue;
        }
        let (who, site) = (process(&wait.who), location(&wait.who));
        let waited = short(wait.waited);
        let verb = match hops[0].lock.is_seat() {
            true => "stands by",
            false => "waits",
        };
        writeln!(
            out,
            "{indent}{}. {who}  {verb} {waited}  {site}",
            wait.place
        )?;
        locks(out, below, &format!("{indent}   "))?;
    }
    if left_out > 0 {
        writeln!(out, "{indent}… and {left_out} more")?;
    }
    Ok(())
}
