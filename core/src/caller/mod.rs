//! [`Caller`]: the task or thread that makes a call, with the client in force and the locks it holds. These are the
//! locks of the protected calls around the running code ([`frames`]), and those that the task took by hand through a
//! reentrant handle ([`Stay`](crate::queue::Stay)).

mod body;
mod current;
mod frames;
mod held;
mod run;

use std::sync::Arc;

use crate::base::name::Name;
use crate::base::task::{Home, TaskId};
use crate::queue::{Hold, Holds, OpenClient, Requester, Want, held_by_hand};
use crate::store::meta;

pub use current::{Current, current};
pub(crate) use frames::{Body, enter, enter_body};
pub use held::assert_held;
pub(crate) use run::{Around, Loss, Scoped, blocking_scope, run, scope};

#[derive(Default)]
pub(crate) struct Caller {
    /// Whether the call blocks its thread while it waits.
    pub(crate) blocking: bool,
    pub(crate) scope: Option<Arc<OpenClient>>,
    /// Most callers have no locks, and most others only those of one body. In both cases nothing is allocated.
    outermost: Option<Holds>,
    inner: Vec<Holds>,
}

impl Caller {
    #[inline]
    pub(crate) fn current(blocking: bool) -> Self {
        let mut caller = Self {
            blocking,
            ..Self::default()
        };
        held_by_hand(blocking, |hold| caller.push(hold.into()));
        frames::scan(&mut caller);
        caller
    }

    #[inline]
    fn push(&mut self, holds: Holds) {
        match &self.outermost {
            None => self.outermost = Some(holds),
            Some(_) => self.inner.push(holds),
        }
    }

    #[inline]
    fn bodies(&self) -> impl DoubleEndedIterator<Item = &Holds> + Clone {
        self.outermost.iter().chain(&self.inner)
    }

    /// Outermost first. They may belong to any client.
    pub(crate) fn holds(&self) -> impl Iterator<Item = &Arc<Hold>> + Clone {
        let holds = self.bodies().flat_map(Holds::all);
        holds.filter(|hold| !hold.is_released())
    }

    /// The innermost hold of `name` for which `suits` holds, with its body's bounds. Prefers one for which `best`
    /// holds, too.
    #[inline]
    pub(crate) fn find(
        &self,
        client: u64,
        name: &Name,
        suits: impl Fn(&Hold) -> bool,
        best: impl Fn(&Hold) -> bool,
    ) -> Option<Holds> {
        let all = self.bodies().flat_map(|body| {
            let holds = body.all().iter();
            holds.map(move |hold| (hold, body.bounds()))
        });
        let is_meant = |hold: &Hold| hold.client_id() == client && hold.name() == name;
        let mut found = all.rev().filter(|(hold, _)| is_meant(hold) && suits(hold));
        let first = found.next()?;
        let (hold, bounds) = match best(first.0) {
            true => first,
            false => found.find(|(hold, _)| best(hold)).unwrap_or(first),
        };
        Some(Holds::from(hold.clone()).within(bounds.clone()))
    }

    /// Completes a request that enters a queue of `client`. `more` are locks that the call itself has already taken.
    pub(crate) fn sign(
        &self,
        want: &mut Want,
        label: &'static str,
        client: u64,
        more: &[Arc<Hold>],
    ) -> Requester {
        let is_of_client = |hold: &Arc<Hold>| hold.client_id() == client;
        let mut by = Requester {
            label,
            blocking: self.blocking,
            home: Home::current(self.blocking),
            task: TaskId::current(self.blocking),
            inside: self
                .holds()
                .any(|hold| is_of_client(hold) && hold.is_valid()),
            ..Requester::default()
        };
        // A wait for a signal can end without the release of a lock.
        if want.share.capacity == 0 {
            return by;
        }
        let mut holds: Vec<Arc<Hold>> = Vec::new();
        for hold in self.holds().chain(more) {
            if !holds.iter().any(|known| Arc::ptr_eq(known, hold)) {
                holds.push(hold.clone());
            }
        }
        // Nearly every call comes from a task that holds no lock.
        if holds.is_empty() {
            return by;
        }
        let mut names: Vec<Name> = Vec::new();
        for hold in holds.iter().filter(|hold| is_of_client(hold)) {
            if !names.contains(hold.name()) {
                names.push(hold.name().clone());
            }
        }
        want.meta = meta::holding(&want.meta, &names);
        by.holds = Some(Arc::new(holds));
        by
    }
}
