//! [`AcquireTarget`]: the lock of a call, with its client and complete name.

use std::borrow::Cow;
use std::slice;
use std::sync::Arc;

use super::last::Last;
use super::{Holding, Options, Taking, log_obtained};
use crate::client::Client;
use crate::error::{LockError, LockKind};
use crate::lease::Terms;
use crate::member::Caller;
use crate::name::Name;
use crate::observe::{Call, LockLabels, Watch};
use crate::queue::{Acquire, Answered, Hold, Holds, LockQueue, Past, Patience, Want, Within, home};
use crate::store::{Meta, Op, Owner, Share, SharedStr};
use crate::task;

/// The lock of a call. Calls of annotated functions make a target without a handle.
#[derive(Clone, Debug)]
pub(crate) struct AcquireTarget<'a> {
    pub(crate) client: Cow<'a, Client>,
    pub(crate) name: Cow<'a, Name>,
    /// Identifies the caller, without the owner: see [`Meta`].
    pub(super) meta: SharedStr,
    /// The owner of the hold; `None`: the calling task.
    pub(super) owner: Option<&'a Owner>,
    /// The holds that the handle remembers, if the call has a handle.
    pub(super) last: Option<&'a Arc<Last>>,
}

impl<'a> AcquireTarget<'a> {
    #[inline]
    pub(crate) fn new(
        client: Cow<'a, Client>,
        name: Cow<'a, Name>,
        meta: SharedStr,
        owner: Option<&'a Owner>,
    ) -> Self {
        Self {
            client,
            name,
            meta,
            owner,
            last: None,
        }
    }

    /// Begins a call. A given `patience` replaces the patience of the options.
    #[inline]
    pub(crate) fn start(
        &self,
        options: &Options,
        share: Share,
        patience: Option<Patience>,
        blocking: bool,
    ) -> Result<Taking, LockError> {
        let (terms, own) = options.apply(self.client.member().settings())?;
        if let Some(mut holding) = self.held_already(options.reentrant, &share, blocking)? {
            holding.check()?;
            holding.nest(terms.expire);
            holding.keep(terms.at_least);
            return Ok(Taking::Obtained(holding));
        }
        let patience = patience.unwrap_or(own);
        let mut want = self.want(share, terms, patience, options.label(), blocking);
        self.name_owner(&mut want)?;
        if patience.waits() && task::is_inside(self.client.id()) {
            self.note_order(want.label, slice::from_ref(&*self.name));
        }
        let mut watch = self.watch(&want);
        let recent = LockQueue::recent(self.client.member(), &self.name);
        if let Some(hold) = recent.and_then(|queue| queue.take_uncontended(&want)) {
            if let Some(watch) = &mut watch {
                watch.granted(slice::from_ref(&hold));
            }
            return Ok(Taking::Obtained(Holding::new(hold)));
        }
        note_holds(&mut want, self.client.id(), &[]);
        Acquire::call(self.join(&mut want), watch).map(Taking::Waiting)
    }

    /// Notes that the calling task, which is inside a protected call, asks for the locks `names`. Only for calls that
    /// may wait, because a call that does not wait cannot be part of a deadlock.
    pub(crate) fn note_order<'n>(
        &self,
        label: &'static str,
        names: impl IntoIterator<Item = &'n Name, IntoIter: Clone>,
    ) {
        let member = self.client.member();
        member.note_order(label, &self.meta, names.into_iter());
    }

    /// Begins to report a call, if a subscriber or an observer wants reports.
    #[inline]
    fn watch(&self, want: &Want) -> Option<Box<Watch>> {
        Watch::begin(self.client.member().observer(), || Call {
            labels: LockLabels::of(want.label, &want.share),
            name: &self.name,
            meta: &want.meta,
            may_wait: want.patience.waits(),
        })
    }

    /// Finds a hold of the calling task that this call may share. Fails if the task has a hold, and the call may neither
    /// share it nor ask for more.
    #[inline]
    pub(crate) fn held_already(
        &self,
        reentrant: bool,
        share: &Share,
        blocking: bool,
    ) -> Result<Option<Holding>, LockError> {
        // A hold that its handle has unlocked does not count.
        let held = |hold: &Hold| !hold.is_released();
        let enough = |hold: &Hold| hold.units() >= share.units;
        let inside = task::find(self.client.id(), &self.name, held, enough);
        // Guards taken by hand may be dropped in any order, so they do not nest: the hold is found without bounds.
        let by_hand = || self.last.filter(|_| reentrant)?.of_caller(blocking, enough);
        match inside.or_else(|| by_hand().map(Holds::from)) {
            Some(holds) => self.shared(holds, reentrant, share),
            None => Ok(None),
        }
    }

    /// Returns a holding that shares `holds`, which the calling task has already. `None` if the call must ask the store for
    /// a hold; otherwise an error.
    fn shared(
        &self,
        holds: Holds,
        reentrant: bool,
        share: &Share,
    ) -> Result<Option<Holding>, LockError> {
        let hold = holds.first();
        let found = hold.grant();
        if found.capacity != share.capacity {
            let expected = (share.capacity, share.takes);
            let found = (found.capacity, found.takes);
            return Err(LockError::mismatch(self.name.to_string(), expected, found));
        }
        let shares = match (self.owner, hold.grant().owner()) {
            (Some(owner), Some(other)) => owner == other,
            _ => reentrant,
        };
        if shares && hold.units() >= share.units {
            // If another thread drops the last guard before the call can share the hold, the call waits like any
            // other.
            return Ok(hold.share().then(|| Holding::new(holds)));
        }
        // A task that has some permits of a semaphore may ask for more of them. A task that asks again for any other
        // lock would wait for itself.
        if LockKind::of(share.capacity, share.takes) == LockKind::Semaphore {
            return Ok(None);
        }
        let name = self.name.to_string();
        Err(if !reentrant {
            LockError::AlreadyHeld { name }
        } else if hold.is_valid() {
            LockError::waits_for_itself(&name)
        } else {
            hold.lost_error()
        })
    }

    /// Asks for the lock as a part of a call that already holds the locks `held`. Does not check whether the calling
    /// task holds the lock itself.
    #[inline]
    pub(crate) fn enter(
        &self,
        share: Share,
        (terms, label): (Terms, &'static str),
        patience: Patience,
        blocking: bool,
        held: &[Arc<Hold>],
    ) -> Result<Acquire, LockError> {
        let mut want = self.want(share, terms, patience, label, blocking);
        self.name_owner(&mut want)?;
        note_holds(&mut want, self.client.id(), held);
        self.join(&mut want)
    }

    /// Makes the request, without the owner.
    #[inline]
    fn want(
        &self,
        share: Share,
        terms: Terms,
        patience: Patience,
        label: &'static str,
        blocking: bool,
    ) -> Want {
        want(share, terms, patience, self.meta.clone(), label, blocking)
    }

    /// Makes `want` the request of the owner, if there is one.
    #[inline]
    fn name_owner(&self, want: &mut Want) -> Result<(), LockError> {
        let Some(owner) = self.owner else {
            return Ok(());
        };
        owner.check()?;
        want.share.owner = Owner::in_store(self.owner);
        want.meta = Meta::owned(&self.meta, owner);
        want.owner = Some(owner.clone());
        Ok(())
    }

    /// Enters the queue. Notes in `want` whether the call is [`within`] a protected call.
    pub(crate) fn join(&self, want: &mut Want) -> Result<Acquire, LockError> {
        want.within = within(self.client.id(), want.blocking);
        Acquire::enter(self.client.member(), &self.name, want)
    }

    /// Logs and remembers `hold`, one of `holds`, which the call has obtained.
    pub(crate) fn obtained(&self, hold: &Arc<Hold>, holds: &Holds, blocking: bool) {
        log_obtained(hold);
        if let Some(last) = self.last {
            last.remember(hold, holds, blocking);
        }
    }

    /// Identifies the caller: see [`Meta`](crate::store::Meta).
    pub(crate) fn meta(&self) -> SharedStr {
        self.meta.clone()
    }

    /// Sends an operation on the name to the store.
    pub(crate) fn ask(&self, op: &Op) -> Result<Answered, LockError> {
        let member = self.client.member();
        member.with_queue(&self.name, |local| local.query(op))
    }
}

/// Notes in a request of `client` which locks the task holds: the locks of the protected calls around it, and `more`.
#[inline]
pub(crate) fn note_holds(want: &mut Want, client: u64, more: &[Arc<Hold>]) {
    let mut holds = task::holds(|_| true);
    holds.extend_from_slice(more);
    // Nearly every call is by a task that holds no lock.
    if holds.is_empty() {
        return;
    }
    let mut names: Vec<Name> = Vec::new();
    for hold in &holds {
        if hold.client_id() == client && !names.contains(hold.name()) {
            names.push(hold.name().clone());
        }
    }
    want.meta = Meta::holding(&want.meta, &names);
    want.nested = Some(Arc::new(holds));
}

/// Makes the request of the calling task. The fields `owner`, `within` and `nested` remain empty.
#[inline]
pub(crate) fn want(
    share: Share,
    terms: Terms,
    patience: Patience,
    meta: SharedStr,
    label: &'static str,
    blocking: bool,
) -> Want {
    Want {
        share,
        owner: None,
        terms,
        patience,
        meta,
        label,
        home: home(),
        relies: false,
        blocking,
        past: Past::default(),
        within: Within::default(),
        nested: None,
    }
}

/// Identifies the calling task, and notes whether it is inside a protected call of the client. Only a request that enters
/// the queue needs this. The fast path grants a name only while the client is open, so it need not know.
pub(crate) fn within(client: u64, blocking: bool) -> Within {
    Within {
        body: task::is_inside(client),
        caller: Caller::current(blocking),
    }
}
