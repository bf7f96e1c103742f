//! [`Filter`]: which locks a list has.

use std::time::Duration;

use auto_mutex::operator::Lock;

/// The conditions for a lock to be listed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    pub(crate) waiting: bool,
    pub(crate) longer_than: Option<Duration>,
    pub(crate) all: bool,
}

impl Filter {
    pub(crate) fn has(&self, lock: &Lock) -> bool {
        let longest = lock.oldest_wait().max(lock.held());
        (self.all || lock.is_in_use())
            && !(self.waiting && lock.waiters.is_empty())
            && self
                .longer_than
                .is_none_or(|least| longest.is_some_and(|longest| longest > least))
    }
}
