//! [`Choices`]: what is left to chance in a run. A [`Schedule`] repeats the run.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use auto_mutex_protocol::Dice;

/// A seed, and for a shortened run the choices other than the first option, by their position.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Schedule {
    pub(super) seed: u64,
    pub(super) only: Option<BTreeMap<usize, u64>>,
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.seed)?;
        let Some(only) = &self.only else {
            return Ok(());
        };
        let choices = only.iter().map(|(at, choice)| format!("{at}={choice}"));
        write!(f, ":{}", choices.collect::<Vec<_>>().join(","))
    }
}

impl FromStr for Schedule {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (seed, only) = match text.split_once(':') {
            Some((seed, only)) => (seed, Some(only)),
            None => (text, None),
        };
        let choice = |text: &str| {
            let (at, choice) = text.split_once('=')?;
            Some((at.trim().parse().ok()?, choice.trim().parse().ok()?))
        };
        let choices = |only: &str| {
            let choices = only.split(',').filter(|text| !text.is_empty());
            choices.map(choice).collect::<Option<_>>().ok_or(())
        };
        Ok(Self {
            seed: seed.trim().parse().map_err(drop)?,
            only: only.map(choices).transpose()?,
        })
    }
}

pub(super) struct Choices {
    dice: Dice,
    only: Option<BTreeMap<usize, u64>>,
    made: Vec<u64>,
}

impl Choices {
    pub(super) fn new(schedule: &Schedule) -> Self {
        Self {
            dice: Dice(schedule.seed),
            only: schedule.only.clone(),
            made: Vec::new(),
        }
    }

    /// A number below `options`. Zero is the usual course of things.
    pub(super) fn below(&mut self, options: u64) -> u64 {
        let at = self.made.len();
        let choice = match &self.only {
            Some(only) => only.get(&at).map_or(0, |choice| choice % options.max(1)),
            None => self.dice.below(options.max(1)),
        };
        self.made.push(choice);
        choice
    }

    /// The choices so far that were not the first option.
    pub(super) fn unusual(&self) -> BTreeMap<usize, u64> {
        let made = self.made.iter().copied().enumerate();
        made.filter(|made| made.1 > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_is_its_text() {
        for text in ["7", "7:", "17:31=2,90=1"] {
            assert_eq!(text.parse::<Schedule>().unwrap().to_string(), text);
        }
        for text in ["", "x", "7:1", "7:1=x"] {
            assert_eq!(text.parse::<Schedule>(), Err(()), "{text}");
        }
    }

    #[test]
    fn the_unusual_choices_repeat_a_run() {
        let draw = |mut choices: Choices| {
            let drawn: Vec<_> = (1..100).map(|options| choices.below(options)).collect();
            (drawn, choices.unusual())
        };
        let mut schedule = Schedule {
            seed: 3,
            only: None,
        };
        let (drawn, unusual) = draw(Choices::new(&schedule));
        schedule.only = Some(unusual);
        assert_eq!(draw(Choices::new(&schedule)).0, drawn);
    }
}
