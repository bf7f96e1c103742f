//! [`Bench`]: the state of a run of the benchmarks, and the rounds of a table.

use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::measure::Values;
use crate::options::Options;
use crate::peer::Contender;
use crate::report::{Machine, Measurement, Report};
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
        Ok(Self {
            report: Report::new(Machine::look(&options)?),
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

    /// Returns those of `contenders` that are requested and can be measured. If a requested contender cannot be measured,
    /// adds a note with the reason.
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
    /// server, and all measurements use it.
    pub(super) fn rounds(
        &mut self,
        table: &str,
        placement: Placement,
        contenders: &[Contender],
        rounds: usize,
        mut measure: impl FnMut(&mut Server, Contender) -> Result<Values, Failure>,
    ) -> Result<(), Failure> {
        let present = self.present(contenders);
        let mut server = Server::start()?;
        for round in 0..rounds {
            for contender in order(&present, round) {
                let label = contender.label();
                progress(&format!(
                    "{table}, {}, round {} of {rounds}: {label}",
                    placement.label(),
                    round + 1,
                ));
                let values = calmest(self.options.calm, || measure(&mut server, contender))
                    .map_err(|error| format!("{table}, {label}: {error}"))?;
                self.add(table, placement, label, round, values);
            }
        }
        Ok(())
    }
}

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
