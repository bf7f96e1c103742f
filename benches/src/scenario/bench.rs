//! [`Bench`]: the state of a run of the benchmarks, and the rounds of a table.

use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::measure::Values;
use crate::options::Options;
use crate::peer::Contender;
use crate::results::{Machine, Measurement, Report};
use crate::run::{Placement, order};
use crate::server::Server;
use crate::{Failure, clock};

pub(crate) struct Bench {
    options: Options,
    report: Report,
    /// The folder for the records of the workers.
    dir: PathBuf,
}

impl Bench {
    pub(super) fn options(&self) -> &Options {
        &self.options
    }

    pub(crate) fn new(options: Options) -> Result<Self, Failure> {
        let dir = options.out.join(format!("records-{}", std::process::id()));
        std::fs::create_dir_all(&dir)?;
        let mut report = Report::new(Machine::look(&options)?);
        if options.page && !options.only.is_empty() {
            report.add_other_scenarios(&options)?;
        }
        Ok(Self {
            report,
            options,
            dir,
        })
    }

    pub(crate) fn finish(self) -> Report {
        let _ = std::fs::remove_dir_all(&self.dir);
        self.report
    }

    /// Saves the report so far: a run takes long, and may be stopped early.
    pub(super) fn save(&self) -> Result<(), Failure> {
        self.report.save(&self.options.out)
    }

    pub(super) fn dir(&self) -> PathBuf {
        self.dir.clone()
    }

    /// Adds a note for the reader of the report.
    pub(super) fn note(&mut self, note: String) {
        if !self.report.notes.contains(&note) {
            self.report.notes.push(note);
        }
    }

    pub(super) fn add(
        &mut self,
        table: &str,
        placement: Placement,
        who: &str,
        round: usize,
        values: Values,
    ) {
        self.report.measurements.push(Measurement {
            table: table.to_owned(),
            placement,
            who: who.to_owned(),
            round,
            values,
        });
    }

    /// Returns those of `contenders` that are requested and can be measured. If a requested contender cannot be
    /// measured, adds a note with the reason.
    pub(super) fn present(&mut self, contenders: &[Contender]) -> Vec<Contender> {
        let mut present = Vec::new();
        for &contender in contenders {
            if self.options.own && !contender.is_ours() {
                continue;
            }
            match contender.missing() {
                None => present.push(contender),
                Some(why) => self.note(format!("{}: skipped, {why}", contender.label())),
            }
        }
        present
    }

    /// Measures all contenders in each of `rounds` rounds, in reverse order in every second round. This call starts one
    /// server of each kind, and all measurements use it. With `--page`, libraries of other languages, whose processes
    /// start slowly, take part in the first rounds only.
    pub(super) fn rounds(
        &mut self,
        table: &str,
        placement: Placement,
        contenders: &[Contender],
        rounds: usize,
        mut measure: impl FnMut(&mut Server, Contender) -> Result<Values, Failure>,
    ) -> Result<(), Failure> {
        let present = self.present(contenders);
        let Some(&first) = present.first() else {
            return Ok(());
        };
        let mut servers = vec![(first.needs_postgres(), Server::of(first)?)];
        for round in 0..rounds {
            for contender in order(&present, round) {
                if self.options.page && contender.is_external() && round >= EXTERNAL_ROUNDS {
                    continue;
                }
                let kind = contender.needs_postgres();
                if !servers.iter().any(|(other, _)| *other == kind) {
                    servers.push((kind, Server::of(contender)?));
                }
                let server = servers.iter_mut().find(|(other, _)| *other == kind);
                let server = &mut server.ok_or("no server")?.1;
                let label = contender.label();
                progress(&format!(
                    "{table}, {}, round {} of {rounds}: {label}",
                    placement.label(),
                    round + 1,
                ));
                match calmest(self.options.calm, || measure(server, contender)) {
                    Ok(values) => self.add(table, placement, label, round, values),
                    Err(error) if contender.is_ours() => {
                        return Err(format!("{table}, {label}: {error}").into());
                    }
                    Err(error) => self.note(format!("{table}, {label}, a round: {error}")),
                }
            }
        }
        Ok(())
    }
}

/// With `--page`.
const EXTERNAL_ROUNDS: usize = 2;

/// A repetition counts as disturbed if other processes use more than this number of processors.
const DISTURBED: f64 = 0.2;

/// Repeats the measurement for up to `seconds` while other processes disturb it; returns the least disturbed values.
fn calmest(
    seconds: f64,
    mut measure: impl FnMut() -> Result<Values, Failure>,
) -> Result<Values, Failure> {
    let foreign = |values: &Values| values.get("foreign_cpu").copied().unwrap_or(0.0);
    let ends = Instant::now() + Duration::from_secs_f64(seconds);
    let mut best = measure()?;
    while foreign(&best) > DISTURBED && Instant::now() < ends {
        let again = measure()?;
        if foreign(&again) < foreign(&best) {
            best = again;
        }
    }
    Ok(best)
}

/// Prints on the terminal what is being measured.
pub(super) fn progress(what: &str) {
    let seconds = clock::now() / clock::SECOND;
    let _ = writeln!(std::io::stderr(), "[{seconds}] {what}");
}
