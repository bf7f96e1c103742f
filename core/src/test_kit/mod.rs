//! What tests of programs with locks need (feature `test-util`).

mod register;
mod skip;

pub use self::register::{FencingToken, Register, Stale};
pub use self::skip::skip_locks;
pub use crate::assert_held;
