//! The command line.

use std::path::PathBuf;

use crate::Failure;

const USAGE: &str = "\
auto-mutex-bench [OPTIONS]

  --quick              few and short repetitions: to see that it works, not to judge
  --only S1,S3         these scenarios
  --repetitions N      of each measurement (7)
  --seconds S          each repetition lasts (3)
  --calm S             repeat what others disturbed, up to S seconds long, and keep the calmest (0)
  --own                only auto-mutex, no peers
  --gates [counts]     compare with the goals and fail if one is missed; `counts`: only what hardly depends on
                       the machine (requests, connections, allocations, overlaps, fairness), which is quick
  --out DIR            where JSON and plots go (target/bench)
  --compare FILE       an earlier results.json: its medians are shown beside those of this run
  --report             no measurements: shows what DIR has already
  --page               writes docs/benchmarks.md, its plots, and the three numbers of README.md. Measures
                       five rounds of 1 s, two of what takes long. With --only: the other scenarios come from
                       DIR's results.json. With --report: measures nothing
";

/// The goals that determine the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gates {
    None,
    Counts,
    All,
}

#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) only: Vec<String>,
    pub(crate) repetitions: usize,
    pub(crate) seconds: f64,
    pub(crate) calm: f64,
    pub(crate) quick: bool,
    pub(crate) own: bool,
    pub(crate) gates: Gates,
    pub(crate) out: PathBuf,
    pub(crate) compare: Option<PathBuf>,
    pub(crate) report: bool,
    pub(crate) page: bool,
}

impl Options {
    /// If the help is requested, prints it and returns `None`.
    pub(crate) fn parse(args: impl Iterator<Item = String>) -> Result<Option<Self>, Failure> {
        let mut options = Self {
            only: Vec::new(),
            repetitions: 0,
            seconds: 0.0,
            calm: 0.0,
            quick: false,
            own: false,
            gates: Gates::None,
            out: "target/bench".into(),
            compare: None,
            report: false,
            page: false,
        };
        let mut args = args.peekable();
        while let Some(arg) = args.next() {
            match &*arg {
                "--quick" => options.quick = true,
                "--own" => options.own = true,
                "--only" => {
                    options.only = value(&arg, &mut args)?
                        .split(',')
                        .map(str::to_uppercase)
                        .collect()
                }
                "--repetitions" => options.repetitions = value(&arg, &mut args)?.parse()?,
                "--seconds" => options.seconds = value(&arg, &mut args)?.parse()?,
                "--calm" => options.calm = value(&arg, &mut args)?.parse()?,
                "--out" => options.out = value(&arg, &mut args)?.into(),
                "--compare" => options.compare = Some(value(&arg, &mut args)?.into()),
                "--page" => options.page = true,
                "--report" => options.report = true,
                "--gates" if args.next_if(|next| next == "counts").is_some() => {
                    options.gates = Gates::Counts;
                }
                "--gates" => options.gates = Gates::All,
                "--help" | "-h" => {
                    print!("{USAGE}");
                    return Ok(None);
                }
                _ => return Err(format!("unknown option {arg}\n\n{USAGE}").into()),
            }
        }
        options.fill();
        Ok(Some(options))
    }

    /// Sets the defaults of options that were not given.
    fn fill(&mut self) {
        let counts = self.gates == Gates::Counts;
        self.quick |= counts;
        self.own |= counts;
        let (repetitions, seconds) = match (counts, self.quick, self.page) {
            (true, _, _) => (1, 1.0),
            (_, true, _) => (2, 0.5),
            (_, _, true) => (5, 1.0),
            _ => (7, 3.0),
        };
        if self.repetitions == 0 {
            self.repetitions = repetitions;
        }
        if self.seconds <= 0.0 {
            self.seconds = seconds;
        }
    }

    /// Returns the number of rounds of a measurement that takes long.
    pub(crate) fn few_repetitions(&self) -> usize {
        self.repetitions.min(if self.page { 2 } else { 3 })
    }

    /// Returns whether only counts are of interest, not times.
    pub(crate) fn counts_only(&self) -> bool {
        self.gates == Gates::Counts
    }

    pub(crate) fn wants(&self, scenario: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == scenario)
    }
}

fn value(option: &str, args: &mut impl Iterator<Item = String>) -> Result<String, Failure> {
    let value = args.next();
    value.ok_or_else(|| format!("{option} needs a value\n\n{USAGE}").into())
}

#[cfg(test)]
mod tests {
    use super::{Gates, Options};

    fn parse(line: &str) -> Options {
        let args = line.split_whitespace().map(str::to_owned);
        Options::parse(args).unwrap().unwrap()
    }

    #[test]
    fn gates_may_be_all_or_counts() {
        assert_eq!(parse("").gates, Gates::None);
        assert_eq!(parse("--gates --quick").gates, Gates::All);
        let counts = parse("--gates counts --only s3,S4");
        assert_eq!(counts.gates, Gates::Counts);
        assert!(counts.own && counts.wants("S4") && !counts.wants("S1"));
        assert_eq!(counts.repetitions, 1);
    }

    #[test]
    fn what_is_said_counts() {
        let options = parse("--quick --repetitions 9 --seconds 0.2");
        assert_eq!((options.repetitions, options.seconds), (9, 0.2));
    }
}
