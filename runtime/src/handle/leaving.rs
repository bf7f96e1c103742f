//! The end of a guard: waiting for what the store says ([`Left`]), or not ([`Releasing`]).

use std::iter;
use std::slice;
use std::sync::Arc;

use crate::error::LockError;
use crate::queue::{Hold, Holds, Unlocked};

/// What a guard has left; with the answer that the store will give, where it was the last guard.
pub(crate) struct Left {
    /// Whether the call that had them was not over.
    held: bool,
    first: (Arc<Hold>, Option<Unlocked>),
    others: Vec<(Arc<Hold>, Option<Unlocked>)>,
}

impl Left {
    /// Sends the releases that are due.
    pub(super) fn new(holds: &Holds) -> Self {
        let leave = |hold: &Arc<Hold>| {
            let last = hold.unshare();
            (hold.clone(), last.then(|| hold.local().unlock(hold)))
        };
        let (first, others) = (holds.first(), holds.all().iter().skip(1));
        Self {
            held: holds.check().is_ok(),
            first: leave(first),
            others: others.map(leave).collect(),
        }
    }

    /// What the store will say of the only hold, if this was its last guard.
    pub(crate) fn into_first(self) -> Option<Unlocked> {
        self.first.1
    }

    /// Whether all of it was held until now.
    pub(crate) async fn wait(self) -> Result<bool, LockError> {
        let mut held = self.held;
        for (hold, answer) in iter::once(self.first).chain(self.others) {
            held &= match answer {
                Some(answer) => answer.wait().await?.is_some(),
                None => hold.is_valid(),
            };
        }
        Ok(held)
    }
}

/// The holds that are still to be released: all of them are, also when a subscriber panics in between.
pub(super) struct Releasing<'a> {
    holds: slice::Iter<'a, Arc<Hold>>,
    returns: bool,
}

impl<'a> Releasing<'a> {
    /// With `returns`, a signalled token goes to the next.
    pub(super) fn new(holds: &'a Holds, returns: bool) -> Self {
        let holds = holds.all().iter();
        Self { holds, returns }
    }

    /// Releases the next one that this was the last guard of.
    pub(super) fn next(&mut self) -> Option<&'a Arc<Hold>> {
        let hold = self.holds.find(|hold| hold.unshare())?;
        match self.returns {
            true => hold.local().give_back(hold),
            false => hold.local().release(hold),
        }
        Some(hold)
    }
}

impl Drop for Releasing<'_> {
    fn drop(&mut self) {
        while self.next().is_some() {}
    }
}
