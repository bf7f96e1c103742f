//! Deadlocks across processes: a task that holds a lock waits for another one, whose holder waits for the first,
//! directly or through others. A client whose task has waited for long searches: it asks the clients of holders what
//! they wait for, and finds the waits that can never end.
//!
//! [`Searches::on`] is one step. It reads no clock, no queue and no list of waits, and sends nothing: what comes of it
//! is a list of [`Effect`]s, in order. Names are of any type.
//!
//! | file | what it decides |
//! |---|---|
//! | `searches` | when a wait is searched for, and what becomes of what a search has found |
//! | `search` | what one pass asks |
//! | `graph` | which waits can never end |
//! | `wait` | what a client says about its own holds and waits |
//! | `probe` | messages between clients, as text |
//! | `records` | what the store alone shows of waits, for operators |

mod graph;
mod input;
mod probe;
mod records;
mod search;
mod searches;
#[cfg(all(test, repository))]
mod tests;
#[cfg(any(test, feature = "test-util"))]
mod visit;
mod wait;

pub use self::graph::{Cycle, Step};
pub use self::input::{Effect, Env, Input, Question};
pub use self::probe::{Answer, Probe};
pub use self::records::{CycleHops, Records};
pub use self::searches::Searches;
#[cfg(any(test, feature = "test-util"))]
pub use self::visit::SearchVisitor;
pub use self::wait::{Nested, Wait, WaitId, WaitingHold};
