//! The local queue under shuttle: threads, tasks and engines of several processes on one memory store, schedule after
//! schedule, on a clock by hand.
//!
//! What must hold in each: what is valid fits into the capacity; fencing tokens grow; nobody waits for ever, where no time
//! passes not even until the next beat; nothing stays behind in the queue or in the store. The simulation beside this
//! tries orders of steps, in one thread; here steps meet.
//!
//! `tests/interleavings` runs this; `AUTO_MUTEX_SCHEDULES=n` tries so many schedules for each test. A schedule that fails
//! is printed; `AUTO_MUTEX_SCHEDULE=… tests/interleavings NAME` replays it.

mod calm;
mod end;
mod process;
mod section;
mod time;
mod witness;

use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::{Config, Runner};

/// How many schedules are tried for each test.
const SCHEDULES: usize = 6000;
/// Steps that must come in one order for a fault to show, at most, by half of the schedules.
const DEPTH: usize = 3;
/// Of a thread; frames are large where nothing is optimised.
const STACK: usize = 1 << 19;

/// Tries schedules of `run`: half of them at random, half with few changes of the thread.
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

/// Says how to see a failure again.
struct Hint;

impl Drop for Hint {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let thread = std::thread::current();
            let test = thread.name().unwrap_or_default();
            eprintln!(
                "replay with AUTO_MUTEX_SCHEDULE='…the failing schedule…' tests/interleavings {test}"
            );
        }
    }
}
