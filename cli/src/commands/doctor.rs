//! `auto-mutex doctor`: finds problems of the store and its locks.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::Write;
use std::time::Duration;

use auto_mutex::operator::{Lock, Operator, Server, ServerAnswer, Waits};
use auto_mutex::{LockError, Weakness};
use clap::ValueEnum;
use clap::builder::PossibleValue;
use serde::Serialize;

use crate::args::{Doctor, Global};
use crate::exit::{Exit, Failure, Outcome};
use crate::output;
use crate::output::json::Process;
use crate::output::words::{clean, closed_for, name, process, processes, quoted, short};
use crate::problem::Id;
use crate::store::look;

/// A problem and its remedy.
#[derive(Debug, Serialize)]
struct Finding {
    id: Id,
    /// The server, lock or key concerned. `None` if this finding only counts further ones with the same id.
    subject: Option<String>,
    meaning: String,
    remedy: String,
}

/// The most findings listed per id.
const LISTED: usize = 20;
/// The longest replica lag that is not a finding. Replicas acknowledge once a second.
const LAG: Duration = Duration::from_secs(3);

pub(crate) fn run(global: &Global, args: &Doctor) -> Outcome {
    let operator = look(global)?;
    let servers = operator.servers()?;
    let mut findings = Findings::default();
    for server in &servers {
        match server {
            Ok(server) => of_server(server, args, &mut findings),
            Err((server, error)) => {
                let meaning = format!("not checked: {}", Failure::Setup(error.clone()));
                let (id, remedy) = match error.is_transient() {
                    true => (
                        Id::ServerUnreachable,
                        "start the server, or take it out of the URL of all programs",
                    ),
                    false => (Id::Unknown, "do what the error says, and run this again"),
                };
                findings.add(id, server, meaning, remedy);
            }
        }
    }
    if of_locks(&operator, args, &mut findings)? {
        of_scripts(&servers, &mut findings);
    }
    let (findings, ignored) = findings.without(&args.ignore);
    output::list(global, "findings", &findings, |out| {
        write_down(out, &operator, &findings, ignored)
    })?;
    Ok(match findings.is_empty() {
        true => Exit::Done,
        false => Exit::Finding,
    })
}

fn write_down(
    out: &mut impl Write,
    operator: &Operator,
    findings: &[Finding],
    ignored: usize,
) -> Result<(), Failure> {
    for finding in findings {
        let subject = finding.subject.as_deref();
        let subject = subject.map(|subject| format!("  {}", name(&clean(subject))));
        let id = finding.id.to_possible_value();
        let id = id.as_ref().map_or("", PossibleValue::get_name);
        writeln!(out, "{id}{}", subject.unwrap_or_default())?;
        writeln!(out, "    {}", name(&clean(&finding.meaning)))?;
        writeln!(out, "    remedy: {}\n", finding.remedy)?;
    }
    let store = operator.store();
    match findings.len() {
        0 if ignored > 0 => writeln!(
            out,
            "Nothing else was found at {store}: --ignore left out {ignored}."
        )?,
        0 => writeln!(out, "Nothing is wrong with the locks at {store}.")?,
        1 => writeln!(out, "1 finding.")?,
        count => writeln!(out, "{count} findings.")?,
    }
    Ok(())
}

/// Adds a finding for each server without the library's scripts. This matters only if locks are in use, because the
/// programs that use them have loaded the scripts.
fn of_scripts(servers: &[ServerAnswer], findings: &mut Findings) {
    let servers = servers.iter().flatten();
    for server in servers.filter(|server| !server.knew_scripts) {
        findings.add(
            Id::Scripts,
            &server.address,
            "its locks are in use, but it did not have the scripts of this version of the library",
            "use the `auto-mutex` of the version that the programs use; if it is the same, somebody has run SCRIPT \
             FLUSH, and there is nothing to do, because the scripts are loaded again",
        );
    }
}

fn of_server(server: &Server, args: &Doctor, findings: &mut Findings) {
    let mut add = |id, meaning: String, remedy: &str| {
        findings.add(id, &server.address, meaning, remedy);
    };
    for weakness in server.guarantees.weaknesses() {
        // The text of a weakness is `meaning: remedy`.
        let text = weakness.to_string();
        let (meaning, remedy) = text.rsplit_once(": ").unwrap_or((text.as_str(), ""));
        add(id_of(&weakness), meaning.to_owned(), remedy);
    }
    for [id, meaning, remedy] in &server.problems {
        let id = Id::from_str(id, false).unwrap_or(Id::Weakness);
        add(id, meaning.clone(), remedy);
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
            "synchronize the clocks of all machines (NTP); locks rely only on the server's clock, from which `since` \
             and fencing tokens come, too",
        );
    }
    for replica in &server.replicas {
        if !replica.is_online {
            add(
                Id::ReplicaOffline,
                format!("its replica {} does not follow", replica.address),
                "check the replica: a failover to it would lose the latest locks",
            );
        } else if let Some(lag) = replica.lag.filter(|lag| *lag > LAG) {
            add(
                Id::ReplicaLag,
                format!(
                    "its replica {} was last heard {} ago",
                    replica.address,
                    short(lag)
                ),
                "check the network and the load of the replica: a failover to it would lose the latest locks",
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
fn of_locks(operator: &Operator, args: &Doctor, findings: &mut Findings) -> Result<bool, Failure> {
    let (mut seen, mut is_in_use) = (HashSet::new(), false);
    let mut waited: Vec<Lock> = Vec::new();
    let mut sites = HashMap::new();
    for keys in operator.keys() {
        let keys = keys?;
        for key in keys.iter().filter(|key| key.never_ends) {
            let server = &key.server;
            findings.add(
                Id::KeyWithoutEnd,
                &key.key,
                format!("a key on {server} has no time to live; those of this library always have one"),
                "find out which program writes it, or removed its time to live (PERSIST), and delete it",
            );
        }
        let in_use = keys.into_iter().filter(|key| !key.idle);
        let names = in_use.filter_map(|key| key.name);
        // In a quorum, several servers have a name, which is read only once.
        let names: Vec<_> = names.filter(|name| seen.insert(name.clone())).collect();
        for (name, lock) in names.iter().zip(operator.inspect(&names)?) {
            match lock {
                Ok(lock) => {
                    is_in_use |= lock.is_in_use();
                    of_permits(&lock, findings);
                    let process = processes(&lock).next().map(Process::of).filter(|it| it.file.is_some());
                    sites.extend(process.map(|process| (lock.name.clone(), process.site)));
                    if !lock.waiters.is_empty() {
                        waited.push(lock);
                    }
                }
                Err(LockError::ForeignKey { .. }) => findings.add(
                    Id::ForeignKey,
                    name,
                    "its key holds data of another program or an incompatible version of the library",
                    "find out which program writes it; use another name or namespace, or delete the key",
                ),
                Err(error) => return Err(error.into()),
            }
        }
    }
    waited.sort_by(|a, b| a.name.cmp(&b.name));
    of_namespaces(&sites, findings);
    of_waiters(&waited, args, findings);
    of_cycles(&operator.waits(waited)?, findings);
    Ok(is_in_use)
}

/// Adds a finding for each lock that one function takes both in a namespace and without one: its two holders don't
/// exclude each other. `sites` has the function of each name.
fn of_namespaces(sites: &HashMap<String, String>, findings: &mut Findings) {
    for (whole, site) in sites {
        if let Some((namespace, rest)) = whole.split_once(':')
            && sites.get(rest) == Some(site)
        {
            findings.add(
                Id::Namespaces,
                whole,
                format!("{site} also takes {rest}, without the namespace {namespace}: these two locks don't exclude each other"),
                "give all processes of the program the same namespace (AUTO_MUTEX_NAMESPACE, or `Config::namespace`)",
            );
        }
    }
}

/// Adds a finding if programs give a semaphore several numbers of permits.
fn of_permits(lock: &Lock, findings: &mut Findings) {
    let given: BTreeMap<_, _> = processes(lock)
        .flatten()
        .filter_map(|who| Some((who.permits?, who)))
        .collect();
    if let (Some((few, who)), Some((many, other))) =
        (given.first_key_value(), given.last_key_value())
        && few < many
    {
        findings.add(
            Id::Permits,
            &lock.name,
            format!("{who} gives it {few} permits, {other} {many}: as long as both use it, there are {few}"),
            "unless a deploy is under way, give the same number in all programs",
        );
    }
}

/// Adds findings about long waits.
fn of_waiters(waited: &[Lock], args: &Doctor, findings: &mut Findings) {
    for lock in waited {
        // Standbys of a leader wait for as long as it leads.
        let waiters = lock.waiters.iter().filter(|_| !lock.is_seat());
        let oldest = waiters.max_by_key(|wait| wait.waited);
        if let Some(oldest) = oldest.filter(|wait| wait.waited > args.longest_wait) {
            let (who, waited) = (process(&oldest.who), short(oldest.waited));
            let remedy = format!("auto-mutex why {}", quoted(&lock.name));
            findings.add(
                Id::OldWaiter,
                &lock.name,
                format!("{who} has waited for {waited}"),
                &remedy,
            );
        }
    }
}

fn of_cycles(waits: &Waits, findings: &mut Findings) {
    for chain in waits.chains().iter().filter(|chain| chain.cycle) {
        let mut names: Vec<_> = chain.hops.iter().map(|hop| &*hop.lock.name).collect();
        names.sort_unstable();
        names.dedup();
        findings.add(
            Id::Cycle,
            names.first().copied().unwrap_or_default(),
            format!("tasks wait for each other in a deadlock over {}", names.join(", ")),
            "take locks in one order everywhere; for now, find the cycle with `auto-mutex tree`, and break one hold with `auto-mutex kick`",
        );
    }
}

/// Lists the first [`LISTED`] findings of each id, and counts the others.
#[derive(Default)]
struct Findings {
    listed: Vec<Finding>,
    counts: BTreeMap<Id, usize>,
}

impl Findings {
    fn add(&mut self, id: Id, subject: &str, meaning: impl Into<String>, remedy: &str) {
        let count = self.counts.entry(id).or_default();
        *count += 1;
        if *count <= LISTED {
            self.listed.push(Finding {
                id,
                subject: Some(subject.to_owned()),
                meaning: meaning.into(),
                remedy: remedy.to_owned(),
            });
        }
    }

    /// The findings, and how many were left out.
    fn without(mut self, ignored: &[Id]) -> (Vec<Finding>, usize) {
        let rest = self.counts.into_iter().filter(|(_, count)| *count > LISTED);
        self.listed.extend(rest.map(|(id, count)| Finding {
            id,
            subject: None,
            meaning: format!("{} more of these", count - LISTED),
            remedy: "fix those above, and run this again".to_owned(),
        }));
        let all = self.listed.len();
        self.listed.retain(|finding| !ignored.contains(&finding.id));
        let left_out = all - self.listed.len();
        (self.listed, left_out)
    }
}
