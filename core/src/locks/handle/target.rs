//! [`AcquireTarget`]: the lock of a call, with its client and complete name.

use std::borrow::Cow;
use std::slice;
use std::sync::Arc;

use super::{Holding, Last, Options, Reentry, Taking};
use crate::base::error::{LockError, LockKind};
use crate::base::name::Name;
use crate::caller::Caller;
use crate::lease::Tenure;
use crate::locks::client::Client;
use crate::observe::{BY_HAND, LockLabels};
use crate::queue::{Acquire, Answered, Hold, Holds, Patience, Want, Watch};
use crate::store::{Op, Share, SharedStr, meta};

#[derive(Clone, Debug)]
pub(crate) struct AcquireTarget<'a> {
    pub(crate) client: Cow<'a, Client>,
    pub(crate) name: Cow<'a, Name>,
    /// Without an owner: see [`meta`].
    pub(crate) meta: SharedStr,
    pub(super) owner: Option<&'a Arc<str>>,
    /// `None` for an annotated function, which has no handle.
    pub(crate) last: Option<&'a Arc<Last>>,
}

impl<'a> AcquireTarget<'a> {
    #[inline]
    pub(crate) fn new(
        client: Cow<'a, Client>,
        name: Cow<'a, Name>,
        meta: SharedStr,
        owner: Option<&'a Arc<str>>,
    ) -> Self {
        Self {
            client,
            name,
            meta,
            owner,
            last: None,
        }
    }

    /// `patience`, if given, overrides the options.
    #[inline]
    pub(crate) fn start(
        &self,
        caller: &Caller,
        options: &Options,
        share: Share,
        patience: Option<Patience>,
    ) -> Result<Taking, LockError> {
        let (tenure, own) = options.apply(self.client.core().settings())?;
        if let Some(mut holding) = self.held_already(caller, options, &share)? {
            holding.check()?;
            holding.nest(tenure.expire);
            holding.park_for(tenure.at_least);
            return Ok(Taking::Obtained(holding));
        }
        let patience = patience.unwrap_or(own);
        let mut want = self.want(share, tenure, patience)?;
        if share.kind != LockKind::Leader {
            want.max_waiters = options.max_waiters(self.client.core().settings());
        }
        let label = options.label();
        if patience.queues() {
            self.note_order(caller, label, slice::from_ref(&*self.name));
        }
        let labels = LockLabels::of(label, &want.share);
        let (core, may_wait) = (self.client.core(), patience.waits());
        let watch = Watch::begin(core, labels, &self.name, &want.meta, may_wait);
        Acquire::call(self.join(caller, &mut want, label, &[]), watch).map(Taking::Waiting)
    }

    /// Records that `names` follow the locks that the caller holds. Only for calls that may queue, because no other
    /// call can be part of a deadlock.
    #[inline]
    pub(crate) fn note_order<'n>(
        &self,
        caller: &'n Caller,
        label: &'static str,
        names: impl IntoIterator<Item = &'n Name, IntoIter: Clone>,
    ) {
        let order = &self.client.core().order;
        let held = caller.holds().map(|hold| hold.in_order());
        order.note(held, (label, &*self.meta), names.into_iter());
    }

    /// Shares a hold of the caller, or fails if the call can neither share it nor ask for more. `None` means: ask the
    /// store.
    #[inline]
    pub(crate) fn held_already(
        &self,
        caller: &Caller,
        options: &Options,
        share: &Share,
    ) -> Result<Option<Holding>, LockError> {
        // A hold unlocked through its handle does not count.
        let held = |hold: &Hold| !hold.is_released();
        let enough = |hold: &Hold| hold.units() >= share.units;
        let found = caller.find(self.client.id(), &self.name, held, enough);
        found.map_or(Ok(None), |holds| self.shared(holds, options.reentry, share))
    }

    fn shared(
        &self,
        holds: Holds,
        reentry: Reentry,
        share: &Share,
    ) -> Result<Option<Holding>, LockError> {
        let hold = holds.first();
        let found = &hold.want().share;
        if found.capacity != share.capacity {
            let expected = (share.kind, share.capacity);
            let found = (found.kind, found.capacity);
            return Err(LockError::mismatch(self.name.to_string(), expected, found));
        }
        let shares = match (self.owner, &hold.want().owner) {
            (Some(owner), Some(other)) => owner == other,
            _ => reentry == Reentry::Enters,
        };
        if shares && hold.units() >= share.units {
            // If another thread has dropped the last guard, the call waits like any other.
            return Ok(hold.add_guard().then(|| Holding::new(holds)));
        }
        // A task may ask for more permits of a semaphore. With any other lock, it would wait for itself.
        if share.kind == LockKind::Semaphore && reentry != Reentry::Deadlock {
            return Ok(None);
        }
        let name = self.name.to_string();
        Err(if reentry == Reentry::Refused {
            LockError::already_held(name)
        } else if hold.is_valid() {
            LockError::waits_for_itself(&name)
        } else {
            hold.lost_error()
        })
    }

    #[inline]
    pub(crate) fn want(
        &self,
        share: Share,
        tenure: Tenure,
        patience: Patience,
    ) -> Result<Want, LockError> {
        let mut want = Want::new(share, tenure, patience, self.meta.clone());
        if share.kind == LockKind::Semaphore {
            want.meta = meta::permitted(&self.meta, share.capacity);
        }
        if let Some(owner) = self.owner {
            if owner.is_empty() {
                let reason = "it is empty: give an owner, or leave it out";
                return Err(LockError::invalid("owner", reason));
            }
            want.meta = meta::owned(&want.meta, owner);
            want.owner = Some(owner.clone());
        }
        Ok(want)
    }

    /// Enters the queue. For `held`, see [`Caller::sign`].
    pub(crate) fn join(
        &self,
        caller: &Caller,
        want: &mut Want,
        label: &'static str,
        held: &[Arc<Hold>],
    ) -> Result<Acquire, LockError> {
        let by = caller.sign(want, label, self.client.id(), held);
        Acquire::enter(self.client.core(), &self.name, want, by)
    }

    /// Enters the queue of those that wait for a signal.
    pub(crate) fn await_signal(
        &self,
        caller: &Caller,
        share: Share,
        patience: Patience,
    ) -> Result<Acquire, LockError> {
        let mut want = self.want(share, Tenure::default(), patience)?;
        self.join(caller, &mut want, BY_HAND, &[])
    }

    pub(crate) fn ask(&self, op: &Op) -> Result<Answered, LockError> {
        let core = self.client.core();
        core.with_queue(&self.name, |local| local.query(op))
    }
}
