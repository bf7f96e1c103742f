//! Shows a [`Report`]: as JSON, on the terminal and as plots.

mod compare;
mod growth;
pub(crate) mod plot;
mod svg;
mod table;

use std::fs;
use std::path::Path;

use crate::Failure;
use crate::options::Options;
use crate::results::{Measurement, Report};
use crate::scenario;

impl Report {
    /// Adds the measurements of an earlier run, except those of the scenarios that this run measures.
    pub(crate) fn add_other_scenarios(&mut self, options: &Options) -> Result<(), Failure> {
        let path = options.out.join("results.json");
        if !path.exists() {
            return Ok(());
        }
        let earlier = Self::load(&path)?;
        if !earlier.machine.is_like(&self.machine) {
            let path = path.display();
            return Err(format!("{path} comes from another machine or server; delete it").into());
        }
        let again: Vec<_> = scenario::ALL
            .iter()
            .filter(|scenario| options.wants(scenario.id))
            .flat_map(|scenario| scenario.tables)
            .map(|table| table.name)
            .collect();
        let stays = |it: &Measurement| !again.contains(&&*it.table);
        self.measurements = earlier.measurements.into_iter().filter(stays).collect();
        let mut commits: Vec<_> = earlier.machine.commit.split(", ").collect();
        if !self.measurements.is_empty() && !commits.contains(&&*self.machine.commit) {
            commits.push(&self.machine.commit);
            self.machine.commit = commits.join(", ");
        }
        let of_again = |note: &String| again.iter().any(|it| note.starts_with(&format!("{it},")));
        let notes = earlier.notes.into_iter();
        self.notes = notes.filter(|note| !of_again(note)).collect();
        Ok(())
    }

    /// Writes the JSON file and the plots.
    pub(crate) fn save(&self, dir: &Path) -> Result<(), Failure> {
        fs::write(dir.join("results.json"), serde_json::to_vec_pretty(self)?)?;
        for table in scenario::ALL.iter().flat_map(|scenario| scenario.tables) {
            if let Some(svg) = plot::plot(self, table) {
                let file = format!("{}.svg", table.name.to_lowercase().replace(' ', "-"));
                fs::write(dir.join(file), svg)?;
            }
        }
        Ok(())
    }

    /// Prints tables, notes and goals on the terminal.
    pub(crate) fn show(&self, options: &Options) -> Result<(), Failure> {
        println!("\n{}", self.machine);
        println!(
            "Medians of the repetitions [minimum – maximum]; × is the ratio to rslock, pair by pair."
        );
        for table in scenario::ALL.iter().flat_map(|scenario| scenario.tables) {
            table::show(self, table);
        }
        if let Some(path) = &options.compare {
            compare::show(&Self::load(path)?, self);
        }
        for note in &self.notes {
            println!("\nnote: {note}");
        }
        table::verdicts(&self.verdicts, options.counts_only());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Values;
    use crate::results::Machine;
    use crate::run::Placement;

    fn measurement(table: &str, who: &str) -> Measurement {
        Measurement {
            table: table.to_owned(),
            placement: Placement::Split,
            who: who.to_owned(),
            round: 0,
            values: Values::new(),
        }
    }

    #[test]
    fn a_part_replaces_its_own_scenarios_and_keeps_the_others() {
        let dir = std::env::temp_dir().join(format!("am-bench-parts-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let mut earlier = Report::new(Machine::default());
        for table in ["S4", "S4 1 ms", "S5"] {
            earlier.measurements.push(measurement(table, "old"));
        }
        earlier.notes = vec!["S4 1 ms, distkit: late".to_owned(), "S5, x".to_owned()];
        earlier.save(&dir).unwrap();
        let line = format!("--page --only S4 --out {}", dir.display());
        let words = line.split_whitespace().map(str::to_owned);
        let options = Options::parse(words).unwrap().unwrap();
        let mut report = Report::new(Machine::default());
        report.add_other_scenarios(&options).unwrap();
        let tables: Vec<_> = report.measurements.iter().map(|it| &*it.table).collect();
        assert_eq!(tables, ["S5"]);
        assert_eq!(report.notes, ["S5, x"]);
        report.machine.redis = "another".to_owned();
        assert!(report.add_other_scenarios(&options).is_err());
        fs::remove_dir_all(&dir).unwrap();
    }
}
