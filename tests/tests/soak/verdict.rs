//! Checks that nothing grew: compares the last quarter of the time with the second. (In the first quarter, everything
//! reaches its normal size.)

use std::fmt::Write as _;

use super::LEASE;
use super::sample::Sample;

pub(crate) struct Verdict {
    pub(crate) text: String,
    pub(crate) faults: Vec<String>,
}

/// A figure, and how much it may grow: by a share of its value plus a number.
type Figure = (&'static str, fn(&Sample) -> f64, f64, f64);

const FLAT: [Figure; 5] = [
    ("memory of clients, KiB", |it| it.clients, 0.05, 1024.0),
    ("memory the server uses, KiB", |it| it.used, 0.10, 512.0),
    ("keys", |it| it.keys, 0.20, 10.0),
    ("connections", |it| it.connections, 0.0, 2.0),
    ("open files of clients", |it| it.files, 0.0, 2.0),
];

pub(crate) fn of(samples: &[Sample]) -> Verdict {
    let (mut text, mut faults) = (String::new(), Vec::new());
    let quarter = samples.len() / 4;
    let (before, after) = (
        &samples[quarter..2 * quarter],
        &samples[samples.len() - quarter..],
    );
    // Writing to a String cannot fail.
    let _ = writeln!(
        text,
        "| | second quarter | last quarter | most |\n|---|---|---|---|"
    );
    for (what, figure, share, number) in FLAT {
        let [then, now] = [before, after].map(|samples| median(samples, figure));
        let most = samples.iter().map(figure).fold(0.0, f64::max);
        let _ = writeln!(text, "| {what} | {then:.0} | {now:.0} | {most:.0} |");
        if now > then * (1.0 + share) + number {
            faults.push(format!("{what} grew from {then:.0} to {now:.0}"));
        }
    }
    let lasting = samples.iter().map(|it| it.lasting_keys).fold(0.0, f64::max);
    if lasting > 0.0 {
        faults.push(format!("{lasting} keys would stay for ever"));
    }
    let late = samples.iter().map(|it| it.late).fold(0.0, f64::max);
    let own = samples.iter().map(|it| it.late - it.stall);
    let own = own.fold(0.0, f64::max);
    let stall = samples.iter().map(|it| it.stall).fold(0.0, f64::max);
    let typical = median(samples, |it| it.late);
    // If every renewal is on time, two thirds of the lease are always left; if a renewal is missed, one third.
    let allowed = LEASE.as_secs_f64() * 1000.0 / 3.0;
    if own >= allowed {
        faults.push(format!("a renewal was {own:.0} ms late"));
    }
    let sections: f64 = samples.iter().map(|it| it.sections).sum();
    let _ = writeln!(
        text,
        "keys without a TTL: {lasting}; latest renewal: {late:.0} ms after its time, in a typical look {typical:.0} ms \
         ({allowed:.0} ms: a beat is missed); the machine stood still for {stall:.0} ms at most; {sections} sections under the eyes of the witness"
    );
    Verdict { text, faults }
}

fn median(samples: &[Sample], figure: fn(&Sample) -> f64) -> f64 {
    let mut all: Vec<f64> = samples.iter().map(figure).collect();
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or_default()
}
