//! `auto-mutex doctor`: finds faults of the store and its locks.

use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::time::Duration;

use auto_mutex::operator::{Lock, Operator, Server, ServerAnswer, Waits};
use auto_mutex::{LockError, Weakness};
use clap::ValueEnum;
use clap::builder::PossibleValue;
use serde::Serialize;

use crate::args::{Doctor, Format, Global};
use crate::exit::{Exit, Failure, Outcome};
use crate::output::json::List;
use crate::output::words::{clean, closed_for, name, process, quoted, short};
use crate::output::{Progress, stdout};
use crate::store::look;

/// The kind of a fault. Ids stay the same from release to release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Id {
    ServerUnreachable,
    Scripts,
    Closed,
    Clock,
    ReplicaOffline,
    ReplicaLag,
    Memory,
    InProcessOnly,
    Eviction,
    RestartForgetsLast,
    RestartForgets,
    OldPrimaryGoesOn,
    FailoverUnnoticed,
    Unknown,
    Weakness,
    KeyWithoutEnd,
    ForeignKey,
    OldWaiter,
    Cycle,
}

/// A fault, and its remedy.
#[derive(Debug, Serialize)]
pub(crate) struct Finding {
    pub(crate) id: Id,
    /// The server, lock or key with the fault. `None` if this finding only counts further findings with the same id.
    pub(crate) subject: Option<String>,
    pub(crate) meaning: String,
    pub(crate) remedy: String,
}

/// The greatest number of findings with the same id that are listed.
const LISTED: usize = 20;

pub(crate) fn run(global: &Global, args: &Doctor) -> Outcome {
    let operator = look(global)?;
    let servers = operator.servers()?;
    let mut findings = of_servers(&servers, args);
    let progress = Progress::new();
    let is_in_use = of_locks(&operator, args, &progress, &mut findings)?;
    progress.end();
    if is_in_use {
        of_scripts(&servers, &mut findings);
    }
    findings.retain(|finding| !args.ignore.contains(&finding.id));
    let mut out = stdout();
    match global.output.unwrap_or(Format::Table) {
        Format::Table => write_down(&mut out, &operator, &findings)?,
        format => {
            let mut list = List::begin(&mut out, "findings", format == Format::Jsonl)?;
            findings.iter().try_for_each(|finding| list.item(finding))?;
            list.end()?;
        }
    }
    out.flush()?;
    Ok(match findings.is_empty() {
        true => Exit::Done,
        false => Exit::Finding,
    })
}

fn write_down(
    out: &mut impl Write,
    operator: &Operator,
    findings: &[Finding],
) -> Result<(), Failure> {
    for finding in findings {
        let subject = finding
            .subject
            .as_deref()
            .map(|subject| format!("  {}", name(&clean(subject))));
        let id = finding.id.to_possible_value();
        let id = id.as_ref().map_or("", PossibleValue::get_name);
        writeln!(out, "{id}{}", subject.unwrap_or_default())?;
        writeln!(out, "    {}", name(&clean(&finding.meaning)))?;
        writeln!(out, "    remedy: {}\n", finding.remedy)?;
    }
    match findings.len() {
        0 => writeln!(
            out,
            "Nothing is wrong with the locks at {}.",
            operator.place()
        )?,
        1 => writeln!(out, "1 finding.")?,
        count => writeln!(out, "{count} findings.")?,
    }
    Ok(())
}

fn of_servers(servers: &[ServerAnswer], args: &Doctor) -> Vec<Finding> {
    let mut findings = Vec::new();
    for server in servers {
        match server {
            Ok(server) => of_server(server, args, &mut findings),
            Err((place, error)) => findings.push(Finding {
                id: Id::ServerUnreachable,
                subject: Some(place.clone()),
                meaning: Failure::Setup(error.clone()).to_string(),
                remedy: "start the server, or take it out of the URL of all programs".to_owned(),
            }),
        }
    }
    findings
}

/// Adds a finding for each server without the scripts of the library. This is a fault only if locks are in use, because
/// the programs that use them have loaded the scripts.
fn of_scripts(servers: &[ServerAnswer], findings: &mut Vec<Finding>) {
    for server in servers.iter().flatten() {
        if !server.knew_scripts {
            findings.push(Finding {
                id: Id::Scripts,
                subject: Some(server.address.clone()),
                meaning: "its locks are in use, but it did not have the scripts of this version of the library".to_owned(),
                remedy: "use the `auto-mutex` of the version that the programs use; if it is the same version, somebody has \
                         just flushed the scripts (SCRIPT FLUSH), which programs and this command load again"
                    .to_owned(),
            });
        }
    }
}

fn of_server(server: &Server, args: &Doctor, findings: &mut Vec<Finding>) {
    let mut add = |id, meaning: String, remedy: &str| {
        findings.push(Finding {
            id,
            subject: Some(server.address.clone()),
            meaning,
            remedy: remedy.to_owned(),
        });
    };
    for weakness in server.guarantees.weaknesses() {
        // The text of a weakness is `meaning: remedy`.
        let text = weakness.to_string();
        let (meaning, remedy) = text.rsplit_once(": ").unwrap_or((text.as_str(), ""));
        add(id_of(&weakness), meaning.to_owned(), remedy);
    }
    if let Some(left) = server.closed_for {
        add(
            Id::Closed,
            format!("it {}", closed_for(left)),
            "wait; with a smaller `Config::longest_lease` in all programs, this takes less time",
        );
    }
    let doubt = server.round_trip / 2;
    if let Some(ahead) = server.clock_ahead_ms
        && Duration::from_millis(ahead.unsigned_abs()) > args.clock + doubt
    {
        let which = if ahead > 0 { "ahead of" } else { "behind" };
        let by = short(Duration::from_millis(ahead.unsigned_abs()));
        add(
            Id::Clock,
            format!("its clock is {by} {which} the one of this machine"),
            "let all machines follow a time server; locks count on the server's clock only, but `since` and fencing tokens \
             come from it",
        );
    }
    for replica in &server.replicas {
        if !replica.is_online {
            add(
                Id::ReplicaOffline,
                format!("its replica {} does not follow", replica.address),
                "see to the replica: a failover to it would lose the latest locks",
            );
        } else if let Some(lag) = replica.lag.filter(|lag| *lag > LAG) {
            add(
                Id::ReplicaLag,
                format!(
                    "its replica {} was last heard {} ago",
                    replica.address,
                    short(lag)
                ),
                "see to the network and the load of the replica: a failover to it would lose the latest locks",
            );
        }
    }
    if let (Some(used), Some(most)) = (server.used_memory, server.max_memory)
        && used.saturating_mul(10) > most.saturating_mul(9)
    {
        add(
            Id::Memory,
            format!("it uses {} of {} MiB", used >> 20, most >> 20),
            "raise maxmemory, or move other data elsewhere: new locks are refused when it is full",
        );
    }
}

/// The longest lag of a replica that is not a finding. A replica acknowledges once a second.
const LAG: Duration = Duration::from_secs(3);

fn id_of(weakness: &Weakness) -> Id {
    match weakness {
        Weakness::InProcessOnly => Id::InProcessOnly,
        Weakness::Eviction { .. } => Id::Eviction,
        Weakness::RestartForgetsLast => Id::RestartForgetsLast,
        Weakness::RestartForgets => Id::RestartForgets,
        Weakness::OldPrimaryGoesOn => Id::OldPrimaryGoesOn,
        Weakness::FailoverUnnoticed => Id::FailoverUnnoticed,
        Weakness::Unknown { .. } => Id::Unknown,
        _ => Id::Weakness,
    }
}

/// Adds findings about keys and locks, and returns whether any lock is in use.
fn of_locks(
    operator: &Operator,
    args: &Doctor,
    progress: &Progress,
    findings: &mut Vec<Finding>,
) -> Result<bool, Failure> {
    let (mut counts, mut seen, mut is_in_use) = (Counts::default(), HashSet::new(), false);
    let mut waited: Vec<Lock> = Vec::new();
    for keys in operator.keys() {
        let keys = keys?;
        progress.add(keys.len());
        for key in keys.iter().filter(|key| key.never_ends) {
            counts.add(findings, || Finding {
                id: Id::KeyWithoutEnd,
                subject: Some(key.key.clone()),
                meaning: format!("a key on {} has no time to live; those of this library always have one", key.server),
                remedy: "find out which program writes it, or took the time to live away (PERSIST), and delete it".to_owned(),
            });
        }
        let in_use = keys.into_iter().filter(|key| !key.idle);
        let names = in_use.filter_map(|key| key.name);
        // A name is on several servers of a quorum, but is read only once.
        let names: Vec<_> = names.filter(|name| seen.insert(name.clone())).collect();
        for (name, lock) in names.iter().zip(operator.inspect(&names)?) {
            match lock {
                Ok(lock) => {
                    is_in_use |= lock.is_in_use();
                    if !lock.waiters.is_empty() {
                        waited.push(lock);
                    }
                }
                Err(LockError::ForeignKey { .. }) => counts.add(findings, || Finding {
                    id: Id::ForeignKey,
                    subject: Some(name.clone()),
                    meaning: "its key holds data that this version of the library does not know".to_owned(),
                    remedy: "find out which program writes it: another one, or another version; use another name or \
                             namespace, or delete the key"
                        .to_owned(),
                }),
                Err(error) => return Err(error.into()),
            }
        }
    }
    waited.sort_by(|a, b| a.name.cmp(&b.name));
    of_waiters(&waited, args, &mut counts, findings);
    of_cycles(&operator.waits(waited)?, findings);
    counts.tell_rest(findings);
    Ok(is_in_use)
}

/// Adds findings about waiters that wait for too long.
fn of_waiters(waited: &[Lock], args: &Doctor, counts: &mut Counts, findings: &mut Vec<Finding>) {
    for lock in waited {
        let oldest = lock.waiters.iter().max_by_key(|wait| wait.waited);
        if let Some(oldest) = oldest.filter(|wait| wait.waited > args.longest_wait) {
            counts.add(findings, || Finding {
                id: Id::OldWaiter,
                subject: Some(lock.name.clone()),
                meaning: format!(
                    "{} has waited for {}",
                    process(&oldest.who),
                    short(oldest.waited)
                ),
                remedy: format!("auto-mutex why {}", quoted(&lock.name)),
            });
        }
    }
}

fn of_cycles(waits: &Waits, findings: &mut Vec<Finding>) {
    for chain in waits.chains().iter().filter(|chain| chain.cycle) {
        let mut names: Vec<_> = chain.hops.iter().map(|hop| hop.lock.name.clone()).collect();
        names.sort();
        names.dedup();
        findings.push(Finding {
            id: Id::Cycle,
            subject: names.first().cloned(),
            meaning: format!("tasks wait for each other by {}, a deadlock", names.join(", ")),
            remedy: "take locks in one order everywhere; until then, `auto-mutex tree`, and break one hold by `kick`".to_owned(),
        });
    }
}

/// Counts the findings by id. The first [`LISTED`] of an id are listed, and the rest is only counted.
#[derive(Default)]
struct Counts(HashMap<Id, usize>);

impl Counts {
    fn add(&mut self, findings: &mut Vec<Finding>, make: impl FnOnce() -> Finding) {
        let finding = make();
        let count = self.0.entry(finding.id).or_default();
        *count += 1;
        if *count <= LISTED {
            findings.push(finding);
        }
    }

    fn tell_rest(&self, findings: &mut Vec<Finding>) {
        let mut rest: Vec<_> = self
            .0
            .iter()
            .filter(|(_, count)| **count > LISTED)
            .collect();
        rest.sort();
        for (id, count) in rest {
            findings.push(Finding {
                id: *id,
                subject: None,
                meaning: format!("{} more of these", count - LISTED),
                remedy: "mend the ones above, and look again".to_owned(),
            });
        }
    }
}
