//! The list of runs, and their outcomes.

mod holding;
#[cfg(feature = "checker")]
mod limits;
#[cfg(feature = "checker")]
mod outcome;
#[cfg(feature = "checker")]
mod removals;
#[cfg(feature = "checker")]
mod report;
#[cfg(feature = "checker")]
pub(crate) mod table;

pub use self::holding::{Run, Size, holding};
#[cfg(feature = "checker")]
pub use self::limits::limits;
#[cfg(feature = "checker")]
pub use self::outcome::{Outcome, explore, refute, refute_shortly};
#[cfg(feature = "checker")]
pub(crate) use self::outcome::{check, shortest};
#[cfg(feature = "checker")]
pub use self::removals::{Broken, removals};
#[cfg(feature = "checker")]
pub use self::report::report;
