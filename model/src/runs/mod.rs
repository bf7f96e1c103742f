//! Which runs there are, and what came of one.

mod holding;
mod limits;
mod outcome;
mod removals;
mod report;

pub use self::holding::{Run, Size, holding};
pub use self::limits::limits;
pub use self::outcome::{Outcome, explore, refute, refute_shortly};
pub use self::removals::{Broken, removals};
pub use self::report::report;
