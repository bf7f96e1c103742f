//! The workers, as the show controls them: processes if there is a Redis, otherwise threads.

pub(crate) mod processes;
pub(crate) mod threads;

use crate::Failure;
use crate::clock::Time;

/// The workers, numbered from 0.
pub(crate) trait Crew {
    /// Orders a worker not to leave the method in its next call.
    fn order_stay(&mut self, worker: usize) -> Result<(), Failure>;

    /// Ends a worker at once, whatever it is doing.
    fn kill(&mut self, worker: usize) -> Result<Killed, Failure>;

    /// Lets all live workers finish their calls, and waits for them.
    fn stop(&mut self) -> Result<(), Failure>;
}

/// When a worker was killed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Killed {
    /// Just before the kill.
    pub(crate) at: Time,
    /// From this time on, the worker certainly did nothing.
    pub(crate) dead: Time,
}
