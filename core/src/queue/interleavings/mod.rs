//! The local queue under shuttle: threads, tasks and engines of several processes on one memory store and a manual
//! clock, in many schedules.
//!
//! In each schedule, the valid holds fit into the capacity, fencing tokens grow, and every caller is served eventually,
//! without timers if the clock stands still. Nothing is left in the queue or the store. `explorer/` tries
//! all orders of transitions; here several threads run transitions.
//!
//! `cargo shuttle interleavings` runs these tests; `AUTO_MUTEX_SCHEDULES=n` tries n schedules per test. A failed
//! schedule is printed, and `AUTO_MUTEX_SCHEDULE=… cargo shuttle NAME` replays it.

mod calm;
mod end;
mod process;
mod section;
mod time;
mod witness;

use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::{Config, Runner};

/// How many schedules each test tries.
const SCHEDULES: usize = 1500;
/// The depth of the PCT scheduler, which makes half of the schedules: it finds bugs that need at most this many ordered
/// steps.
const DEPTH: usize = 3;
/// The stack size of a thread. Frames are large without optimisation.
const STACK: usize = 1 << 19;

/// Tries schedules of `run`, half of them random, half with few thread switches.
fn check(run: impl Fn() + Send + Sync + Copy + 'static) {
    let _hint = Hint;
    if let Ok(schedule) = std::env::var("AUTO_MUTEX_SCHEDULE") {
        let mut config = Config::new();
        config.stack_size = STACK;
        let replay = shuttle::scheduler::ReplayScheduler::new_from_encoded(&schedule);
        Runner::new(replay, config).run(run);
        return;
    }
    let schedules = std::env::var("AUTO_MUTEX_SCHEDULES");
    let schedules = schedules.map_or(SCHEDULES, |number| number.parse().unwrap());
    for few_changes in [false, true] {
        let mut config = Config::new();
        config.stack_size = STACK;
        match few_changes {
            false => Runner::new(RandomScheduler::new(schedules.div_ceil(2)), config).run(run),
            true => Runner::new(PctScheduler::new(DEPTH, schedules.div_ceil(2)), config).run(run),
        };
    }
}

/// Prints how to replay a failure.
struct Hint;

impl Drop for Hint {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let thread = std::thread::current();
            let test = thread.name().unwrap_or_default();
            eprintln!(
                "replay with AUTO_MUTEX_SCHEDULE='…the failing schedule…' cargo shuttle {test}"
            );
        }
    }
}
