//! Times in nanoseconds: the common clock of all processes of the machine, and the processor time of this process.

use rustix::time::{ClockId, clock_gettime};

pub(crate) const MILLISECOND: u64 = 1_000_000;
pub(crate) const SECOND: u64 = 1_000 * MILLISECOND;

pub(crate) fn now() -> u64 {
    read(ClockId::Monotonic)
}

/// Returns the processor time that all threads of this process have used.
pub(crate) fn used() -> u64 {
    read(ClockId::ProcessCPUTime)
}

fn read(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    now.tv_sec as u64 * SECOND + now.tv_nsec as u64
}
