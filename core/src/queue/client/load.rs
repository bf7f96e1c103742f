//! What the queues of a client hold, for reports.

use std::fmt;
use std::time::Duration;

use crate::base::clock::Instant;
use crate::base::name::Name;
use crate::base::task::TaskId;
use crate::store::{Meta, SharedStr};

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Load {
    pub(crate) held: usize,
    pub(crate) waiting: usize,
    /// When the member sent the oldest renewal that has no answer yet.
    pub(crate) oldest_renewal: Option<Instant>,
}

impl Load {
    pub(super) fn and(self, other: Self) -> Self {
        let renewals = [self.oldest_renewal, other.oldest_renewal];
        Self {
            held: self.held + other.held,
            waiting: self.waiting + other.waiting,
            oldest_renewal: renewals.into_iter().flatten().min(),
        }
    }
}

/// For reports: the `Display` output names the lock, the time and the place in the code.
#[derive(Clone, Debug)]
pub(crate) struct HeldName {
    pub(crate) name: Name,
    pub(crate) meta: SharedStr,
    pub(crate) held: Duration,
    /// If it took the lock by hand, and is known.
    pub(crate) taken_by: Option<TaskId>,
}

impl HeldName {
    pub(crate) fn site(&self) -> String {
        Meta::caller(&self.meta).map_or_else(String::new, |caller| caller.site)
    }
}

impl fmt::Display for HeldName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, held, site) = (&self.name, self.held, self.site());
        write!(f, "`{name}` for {held:?}, by {site}")
    }
}
