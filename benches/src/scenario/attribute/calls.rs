//! Measures the time of calls.

use super::CALLS;
use crate::Failure;
use crate::job::Job;
use crate::measure::cpu::Usage;
use crate::run::{Child, Placement};
use crate::scenario::Bench;
use crate::scenario::bench::progress;
use crate::worker::Calls;

pub(super) fn run(bench: &mut Bench) -> Result<(), Failure> {
    let options = bench.options().clone();
    // Each kind of call is measured for a quarter of the time of a repetition.
    let milliseconds = (options.seconds * 250.0) as u64;
    for round in 0..options.repetitions {
        progress(&format!(
            "{CALLS}, alone, round {} of {}",
            round + 1,
            options.repetitions
        ));
        let before = Usage::now([]);
        let started = crate::clock::now();
        let child = Child::start(&Job::Calls { milliseconds }, Placement::Alone)?;
        let calls: Calls = child.expect("done")?;
        child.wait()?;
        let seconds = (crate::clock::now() - started) as f64 / crate::clock::SECOND as f64;
        let foreign = Usage::now([]).foreign_since(before) / seconds;
        for (kind, ns) in &calls {
            let plain = calls.iter().find(|(other, _)| *other == kind.plain());
            let over = ns - plain.map_or(0.0, |(_, ns)| *ns);
            let values = [
                ("ns", *ns),
                ("over_plain_ns", over),
                ("foreign_cpu", foreign),
            ];
            let values = values.map(|(name, value)| (name.to_owned(), value));
            bench.add(CALLS, Placement::Alone, kind.label(), round, values.into());
        }
    }
    Ok(())
}
