//! [`Unfinished`]: a lock that was still held when a drain was over.

use std::fmt;
use std::time::{Duration, SystemTime};

use crate::base::duration::rounded;
use crate::base::name::Name;
use crate::base::task::TaskId;
use crate::store::meta;

/// A lock that was still held when the time limit of the drain was over.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Unfinished {
    /// The complete name of the lock.
    pub name: String,
    /// Where in the code it was taken; see [`Holder::site`](crate::Holder::site).
    pub site: String,
    /// When the lock was taken, by the local clock.
    pub since: SystemTime,
    /// For how long the lock was held.
    pub held: Duration,
    /// The task, if it took the lock by hand and is known.
    pub(crate) taken_by: Option<TaskId>,
}

impl Unfinished {
    pub(crate) fn new(name: &Name, meta: &str, held: Duration, taken_by: Option<TaskId>) -> Self {
        let since = SystemTime::now().checked_sub(held);
        Self {
            name: name.to_string(),
            site: meta::caller(meta).map_or_else(String::new, |caller| caller.site),
            since: since.unwrap_or(SystemTime::UNIX_EPOCH),
            held,
            taken_by,
        }
    }
}

impl fmt::Display for Unfinished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let held = rounded(self.held);
        write!(f, "`{}` for {held:?}, by {}", self.name, self.site)
    }
}
