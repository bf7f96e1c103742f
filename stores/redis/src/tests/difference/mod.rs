//! Compares the scripts with the rules: see the crate `auto-mutex-difference`.

mod bench;
mod loss;
mod seeded;
mod vectors;

use bench::Bench;

#[test]
fn the_scripts_do_what_the_model_does() {
    auto_mutex_difference::compare(Bench::start, FORMS);
}

/// Kinds of outcomes for each form of the first key, and for names with separate keys for tickets.
const FORMS: &[&str] = &[
    "apart Acquire Busy",
    "apart Acquire Granted",
    "apart Acquire Queued",
    "apart Release Cancelled",
    "apart Release Released",
    "apart Touch Granted",
    "apart Touch Queued",
    "f Acquire Granted",
    "f Acquire Queued",
    "f Release Released",
    "f Touch Granted",
    "f Touch Queued",
    "i Acquire Granted",
    "q Acquire Busy",
    "q Acquire Granted",
    "q Acquire Queued",
    "q Release Cancelled",
    "q Release Released",
    "q Touch Granted",
    "q Touch Queued",
    "s Acquire Busy",
    "s Acquire Granted",
    "s Acquire Queued",
    "s Release Released",
    "s Touch Granted",
];
