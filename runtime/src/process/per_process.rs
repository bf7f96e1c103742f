//! [`PerProcess`]: a value that a process does not share with its forked children.

use super::forks;

/// The number of values. A process and its descendant after eight forks use the same one.
const VALUES: usize = 8;

/// A value of the process. A forked child uses another value than its parent, because a thread of the parent may have
/// locked the parent's value at the fork, and that thread does not exist in the child.
pub(crate) struct PerProcess<T>([T; VALUES]);

impl<T> PerProcess<T> {
    pub(crate) const fn new(values: [T; VALUES]) -> Self {
        Self(values)
    }

    /// The value of this process.
    pub(crate) fn get(&self) -> &T {
        &self.0[forks() as usize % VALUES]
    }
}
