//! The results of all rounds with one fault.

use std::fmt::Write as _;
use std::time::Duration;

use super::fault::Fault;

/// The result of one round.
#[derive(Debug)]
pub(super) struct Outcome {
    /// Sections that overlap others, and together with them exceed the capacity.
    pub(super) overlaps: usize,
    pub(super) token_faults: usize,
    /// Stale writes that the fenced register refused.
    pub(super) refused: usize,
    /// Violations that the workers reported. `lost_requests` counts the requests that failed or timed out.
    pub(super) violations: Vec<String>,
    pub(super) lost_requests: u64,
    /// Losses that holders noticed.
    pub(super) losses: usize,
    /// The time from the fault to the first section that the new primary granted.
    pub(super) first_grant: Duration,
}

pub(super) struct Report {
    fault: Fault,
    outcomes: Vec<Outcome>,
}

impl Report {
    pub(super) fn of(fault: Fault) -> Self {
        Self {
            fault,
            outcomes: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, outcome: Outcome) {
        self.outcomes.push(outcome);
    }

    /// Asserts that there were never two holders, that tokens grew, and that no request was lost.
    pub(super) fn is_clean(&self) {
        for outcome in &self.outcomes {
            let Outcome {
                overlaps,
                token_faults,
                lost_requests,
                violations,
                ..
            } = outcome;
            let clean = (*overlaps, *token_faults, *lost_requests) == (0, 0, 0);
            assert!(
                clean && violations.is_empty(),
                "{:?}: {outcome:#?}",
                self.fault
            );
        }
    }

    pub(super) fn table(reports: &[Self]) -> String {
        let mut text = String::from(
            "| fault | rounds | with two holders | stale writes refused | losses told | requests lost | first new grant, median (longest) |\n\
             |---|---|---|---|---|---|---|\n",
        );
        for Self { fault, outcomes } in reports {
            let crowded = |outcome: &&Outcome| outcome.overlaps + outcome.violations.len() > 0;
            let sum = |of: fn(&Outcome) -> usize| outcomes.iter().map(of).sum::<usize>();
            let lost: u64 = outcomes.iter().map(|outcome| outcome.lost_requests).sum();
            let grants = outcomes.iter().map(|outcome| outcome.first_grant);
            // A time of zero means that the contest ended before the grant.
            let mut grants: Vec<_> = grants.filter(|after| !after.is_zero()).collect();
            grants.sort();
            let median = grants.get(grants.len() / 2).copied().unwrap_or_default();
            let longest = grants.last().copied().unwrap_or_default();
            // Writing to a String cannot fail.
            let _ = writeln!(
                text,
                "| {fault:?} | {} | {} | {} | {} | {lost} | {:.1} s ({:.1} s) |",
                outcomes.len(),
                outcomes.iter().filter(crowded).count(),
                sum(|outcome| outcome.refused),
                sum(|outcome| outcome.losses),
                median.as_secs_f64(),
                longest.as_secs_f64(),
            );
        }
        text
    }
}
