//! Compares the functions with the rules: see the crate `auto-mutex-difference`.

mod bench;
mod seeded;

use bench::Bench;

#[test]
fn the_functions_do_what_the_model_does() {
    auto_mutex_difference::compare(Bench::start, FORMS);
}

/// Kinds of outcomes for a name without a row, one that nobody uses, one whose row has its only holder, and others.
const FORMS: &[&str] = &[
    "absent Acquire Granted",
    "absent Release Gone",
    "free Acquire Granted",
    "free Touch Gone",
    "sole Acquire Busy",
    "sole Acquire Granted",
    "sole Acquire Kept",
    "sole Acquire Queued",
    "sole Release Released",
    "sole Touch Granted",
    "table Acquire Busy",
    "table Acquire Granted",
    "table Acquire Queued",
    "table Release Cancelled",
    "table Release Released",
    "table Touch Granted",
    "table Touch Queued",
];
