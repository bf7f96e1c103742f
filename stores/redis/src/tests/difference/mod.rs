//! Runs the same random operations at the same times on the scripts and on the memory store, which is the model here. Every
//! reply, every message and every state must be the same. A judge that uses neither of them looks for faults that both
//! share.
//!
//! `AUTO_MUTEX_RUNS=n` makes n runs of 250 operations each. A run that fails prints how to repeat it.

mod both;
mod judge;
mod notes;
mod ops;
mod play;
mod seeded;

use std::collections::HashSet;
use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use self::both::Bench;
use super::server::Server;

/// The number of runs, of 250 operations each.
const RUNS: u64 = 900;

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap())
}

#[test]
fn the_scripts_do_what_the_model_does() {
    if let Some(seed) = number("AUTO_MUTEX_SEED") {
        let server = Server::start();
        return play::run(&mut Bench::new(&server), seed, &mut HashSet::new());
    }
    let runs = number("AUTO_MUTEX_RUNS").unwrap_or(RUNS);
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let (next, failed) = (AtomicU64::new(1), AtomicBool::new(false));
    let work = || {
        let failure = Failure(&failed);
        let server = Server::start();
        let mut bench = Bench::new(&server);
        let mut seen = HashSet::new();
        while !failure.0.load(Ordering::Relaxed) {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed > runs {
                break;
            }
            play::run(&mut bench, seed, &mut seen);
        }
        seen
    };
    let seen: HashSet<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let seen = threads.into_iter().map(|thread| thread.join());
        seen.flat_map(|seen| seen.unwrap_or_else(|panic| resume_unwind(panic)))
            .collect()
    });
    if runs < RUNS {
        // Fewer runs need not meet every kind of outcome.
        return;
    }
    let missing: Vec<_> = ALL.iter().filter(|kind| !seen.contains(**kind)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// Ends the runs of the other threads if its own run panics.
struct Failure<'a>(&'a AtomicBool);

impl Drop for Failure<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

/// The kinds of outcomes that some run must meet; otherwise the test has proved little.
const ALL: &[&str] = &[
    "Acquire Busy",
    "Acquire Granted",
    "Acquire Granted of a signal",
    "Acquire Mismatch",
    "Acquire Queued",
    "Acquire Refused",
    "Acquire TooMany",
    "Acquire Busy, closed",
    "Acquire Granted, closed",
    "Acquire Mismatch, closed",
    "Acquire Queued, closed",
    "Adopt Busy, closed",
    "Adopt Gone",
    "Adopt Gone, closed",
    "Adopt Granted",
    "Adopt Granted of a signal",
    "Adopt Queued",
    "Adopt Refused",
    "Adopt Granted, closed",
    "Delete Deleted",
    "Delete Deleted nothing",
    "Delete InUse",
    "Force Freed",
    "Force Freed, closed",
    "Raise Gone",
    "Raise Granted",
    "Refresh Told",
    "Refresh Told nobody",
    "Release Cancelled",
    "Release Gone",
    "Release Released",
    "Release Released, closed",
    "Signal All Refused",
    "Signal All Signalled",
    "Signal All Signalled nobody",
    "Signal One Refused",
    "Signal One Signalled",
    "Signal One Signalled nobody",
    "Signal Token Refused",
    "Signal Token Signalled",
    "Signal Token Signalled, closed",
    "Touch Gone",
    "Touch Granted",
    "Touch Granted of a signal",
    "Touch Granted, closed",
    "Touch Queued",
    "Touch Queued, closed",
    "a downgrade",
    "a late Acquire Granted",
    "a late Acquire Queued",
    "a late Acquire Refused",
    "a late Adopt Gone",
    "a late Release Gone",
    "a late Release Released",
    "a late Signal Token Refused",
    "a late Touch Gone",
    "a late Touch Granted",
    "a loss of all data",
    "a return to older data",
    "a shared hold",
    "pair Released Busy",
    "pair Released Granted",
    "pair Released Queued",
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
    "told Grant",
    "told Grant of a signal",
    "told Lost",
    "told Near",
    "told Refresh",
];
