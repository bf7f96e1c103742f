//! How the test kit (`auto-mutex-test`) gets inside a client: it makes clients whose background is two tasks of the
//! test, is told what becomes of their calls, and gives them time, random numbers and threads that take turns. Not for
//! programs.

pub use crate::background::tasks;
pub use crate::base::wait::block_on;
pub use crate::deadlock::Cycle;
pub use crate::queue::{ClientCore, Witness, Witnessed};

#[cfg(any(test, feature = "test-util"))]
pub use self::tested::*;

#[cfg(any(test, feature = "test-util"))]
mod tested {
    pub use crate::background::{START_HERE, StartHere};
    pub use crate::base::clock::by_hand;
    pub use crate::base::wait::{Turn, Turns, pause};
    pub use crate::store::id::{seed, unseed};
}
