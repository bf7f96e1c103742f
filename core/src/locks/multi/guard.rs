//! [`MultiGuard`]: the guard of several locks.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::base::name::Name;
use crate::locks::handle::{Holding, Last, guard_methods, unlock_methods};

/// Several held locks. Dropping the guard releases them in the background, from any thread, with or without a runtime.
///
/// When one of the locks is lost, all count as lost: see [`is_lost`](Self::is_lost), [`check`](Self::check) and
/// [`lost`](Self::lost).
#[must_use = "if unused, the locks are released at once"]
pub struct MultiGuard {
    pub(super) holding: Holding,
    /// The handles of the locks, in the order of the holds. Empty for an annotated function.
    pub(super) handles: Vec<Arc<Last>>,
    pub(super) waited: Duration,
    pub(super) attempts: u32,
}

guard_methods!(MultiGuard);
unlock_methods!(MultiGuard);

impl MultiGuard {
    /// The names of the locks as given to the handle, each once, in the order in which the locks are taken. The guard
    /// of an annotated function has complete names, with the namespace, as in errors.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let given = self.handles.iter().map(|handle| handle.name());
        let rest = self.holding.holds().all().iter().skip(self.handles.len());
        given.chain(rest.map(|hold| hold.name().as_str()))
    }

    /// The greatest of the locks' fencing tokens, for a resource that several of the locks protect. It grows with every
    /// grant of the same set of names. If the set differs from call to call, choose one name that protects the
    /// resource, and use [`fencing_token_of`](Self::fencing_token_of) with that name.
    #[must_use]
    pub fn fencing_token(&self) -> u64 {
        self.holding.holds().token()
    }

    /// The fencing token of one of the locks: a number that grows with every grant of its name. `name` is the complete
    /// name, or the one given to the handle. `None` if this guard has no such lock.
    #[must_use]
    pub fn fencing_token_of(&self, name: &str) -> Option<u64> {
        let token = |name: &str| {
            let mut holds = self.holding.holds().all().iter();
            let hold = holds.find(|hold| hold.name().as_str() == name);
            hold.map(|hold| hold.grant.token)
        };
        token(name).or_else(|| {
            let settings = self.holding.first().queue.core.settings();
            let complete = Name::verbatim(settings.namespace.as_deref(), name);
            token(complete.ok()?.as_str())
        })
    }

    /// How long the call waited for all the locks.
    #[must_use]
    pub fn waited(&self) -> Duration {
        self.waited
    }

    /// How often the call asked the store. Asking for all locks together counts once.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        self.attempts
    }
}

impl fmt::Debug for MultiGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MultiGuard")
            .field("names", &self.names().collect::<Vec<_>>())
            .field("fencing_token", &self.fencing_token())
            .field("lost", &self.is_lost())
            .finish_non_exhaustive()
    }
}
