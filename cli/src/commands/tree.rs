//! `auto-mutex tree`

use std::io::Write;

use auto_mutex::operator::{Lock, Operator};
use serde::Serialize;

use crate::args::{Format, Global};
use crate::chains::{Branch, Chain, Document, Graph};
use crate::exit::{Exit, Failure, Outcome};
use crate::output::json::{self, Versioned};
use crate::output::words::{place, process, short};
use crate::output::{Progress, stdout};
use crate::store::{each_lock, look};

/// The number of waiters of one lock that are always shown. Further waiters are shown only if they block others.
const SHOWN: usize = 5;

/// The document of `tree` and `why`.
#[derive(Debug, Serialize)]
pub(crate) struct Chains {
    pub(crate) chains: Vec<Document>,
}

pub(crate) fn run(global: &Global) -> Outcome {
    let operator = look(global)?;
    let locks = waited_for(&operator, &Progress::new())?;
    let graph = Graph::new(&locks);
    let chains = graph.chains();
    let mut out = stdout();
    match global.output.unwrap_or(Format::Table) {
        Format::Table => {
            if chains.is_empty() {
                writeln!(out, "Nobody waits.")?;
            }
            for chain in &chains {
                draw(&mut out, chain)?;
            }
        }
        Format::Json => {
            let chains = chains.iter().map(Document::of).collect();
            json::write(&mut out, &Versioned::new(Chains { chains }), false)?;
        }
        Format::Jsonl => {
            for chain in &chains {
                json::write(&mut out, &Versioned::new(Document::of(chain)), true)?;
            }
        }
    }
    out.flush()?;
    Ok(match chains.iter().any(|chain| chain.cycle) {
        true => Exit::Finding,
        false => Exit::Done,
    })
}

/// The locks that have waiters.
pub(crate) fn waited_for(operator: &Operator, progress: &Progress) -> Result<Vec<Lock>, Failure> {
    let mut locks = Vec::new();
    each_lock(operator, "*", progress, |lock| {
        if !lock.waiters.is_empty() {
            locks.push(lock);
        }
        Ok(())
    })?;
    Ok(locks)
}

fn draw(out: &mut impl Write, chain: &Chain<'_>) -> Result<(), Failure> {
    if chain.cycle {
        writeln!(
            out,
            "CYCLE: these processes wait for each other; a deadlock, if the same tasks hold and wait"
        )?;
    }
    match chain.root {
        Some(root) => writeln!(out, "{}  {}", process(root), place(root))?,
        None => writeln!(out, "nobody")?,
    }
    branches(out, &chain.branches, "")
}

fn branches(out: &mut impl Write, all: &[Branch<'_>], indent: &str) -> Result<(), Failure> {
    for (index, branch) in all.iter().enumerate() {
        let is_last = index + 1 == all.len();
        let (corner, bar) = if is_last {
            ("└─ ", "   ")
        } else {
            ("├─ ", "│  ")
        };
        let kind = branch
            .lock
            .kind
            .map(|kind| kind.to_string())
            .unwrap_or_default();
        let held = branch.holder.map_or_else(
            || "held by nobody".to_owned(),
            |hold| format!("held {}", short(hold.held)),
        );
        let count = branch.lock.waiters.len();
        writeln!(
            out,
            "{indent}{corner}{} ({kind}), {held}, {count} waiting",
            branch.lock.name
        )?;
        waiters(out, branch, &format!("{indent}{bar}"))?;
    }
    Ok(())
}

fn waiters(out: &mut impl Write, branch: &Branch<'_>, indent: &str) -> Result<(), Failure> {
    let mut left_out = 0;
    for (index, (wait, more)) in branch.waiters.iter().enumerate() {
        if index >= SHOWN && more.is_empty() {
            left_out += 1;
            continue;
        }
        let (who, site) = (process(&wait.who), place(&wait.who));
        writeln!(
            out,
            "{indent}{}. {who}  waits {}  {site}",
            wait.place,
            short(wait.waited)
        )?;
        branches(out, more, &format!("{indent}   "))?;
    }
    if left_out > 0 {
        writeln!(out, "{indent}… and {left_out} more")?;
    }
    Ok(())
}
