//! The workers as the show sees them: processes where there is a Redis, else threads.

pub(crate) mod processes;
pub(crate) mod threads;

use crate::Failure;
use crate::clock::Time;

/// Those who are called by number.
pub(crate) trait Crew {
    /// Has the next call of a worker stay inside.
    fn order_stay(&mut self, worker: usize) -> Result<(), Failure>;

    /// Ends a worker at once, whatever it does.
    fn kill(&mut self, worker: usize) -> Result<Killed, Failure>;

    /// Lets all that live finish their calls, and waits for them.
    fn stop(&mut self) -> Result<(), Failure>;
}

/// When a worker was killed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Killed {
    /// Just before.
    pub(crate) at: Time,
    /// From here on it surely did nothing.
    pub(crate) dead: Time,
}
