//! [`AcquireTarget`]: the lock of a call, with its client and complete name.

use std::borrow::Cow;
use std::slice;
use std::sync::Arc;

use super::last::Last;
use super::{Holding, Options, Reentry, Taking, log_obtained};
use crate::caller::Caller;
use crate::client::Client;
use crate::error::{LockError, LockKind};
use crate::lease::Terms;
use crate::name::Name;
use crate::observe::LockLabels;
use crate::queue::{Acquire, Answered, Hold, Holds, Past, Patience, Want};
use crate::queue::{Call, Watch};
use crate::store::{Meta, Op, Owner, Share, SharedStr};

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
    pub(crate) last: Option<&'a Arc<Last>>,
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
        caller: &Caller,
        options: &Options,
        share: Share,
        patience: Option<Patience>,
    ) -> Result<Taking, LockError> {
        let (terms, own) = options.apply(self.client.member().settings())?;
        if let Some(mut holding) = self.held_already(caller, options, &share)? {
            holding.check()?;
            holding.nest(terms.expire);
            holding.keep(terms.at_least);
            return Ok(Taking::Obtained(holding));
        }
        let patience = patience.unwrap_or(own);
        let mut want = self.want(caller, share, (terms, options.label()), patience)?;
        if patience.queues() {
            self.note_order(caller, want.label, slice::from_ref(&*self.name));
        }
        let watch = self.watch(&want);
        Acquire::call(self.join(caller, &mut want, &[]), watch).map(Taking::Waiting)
    }

    /// Notes that the caller asks for the locks `names`, while it holds others. Only for calls that wait in the queue,
    /// because no other call can be part of a deadlock.
    #[inline]
    pub(crate) fn note_order<'n>(
        &self,
        caller: &'n Caller,
        label: &'static str,
        names: impl IntoIterator<Item = &'n Name, IntoIter: Clone>,
    ) {
        let (member, of_call) = (self.client.member(), (label, &*self.meta));
        let order = member.order();
        order.note(
            caller.holds().map(|hold| hold.in_order()),
            of_call,
            names.into_iter(),
        );
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

    /// Finds a hold of the caller that this call may share. Fails if the caller has a hold, and the call may neither share
    /// it nor ask for more.
    #[inline]
    pub(crate) fn held_already(
        &self,
        caller: &Caller,
        options: &Options,
        share: &Share,
    ) -> Result<Option<Holding>, LockError> {
        // A hold that its handle has unlocked does not count.
        let held = |hold: &Hold| !hold.is_released();
        let enough = |hold: &Hold| hold.units() >= share.units;
        match caller.find(self.client.id(), &self.name, held, enough) {
            Some(holds) => self.shared(holds, options.reentry, share),
            None => Ok(None),
        }
    }

    /// Returns a holding that shares `holds`, which the caller has already. `None` if the call must ask the store for a
    /// hold; otherwise an error.
    fn shared(
        &self,
        holds: Holds,
        reentry: Reentry,
        share: &Share,
    ) -> Result<Option<Holding>, LockError> {
        let reentry = reentry.of(self.client.member().settings());
        let hold = holds.first();
        let found = hold.grant();
        if found.capacity != share.capacity {
            let expected = (share.kind, share.capacity);
            let found = (found.lock, found.capacity);
            return Err(LockError::mismatch(self.name.to_string(), expected, found));
        }
        let shares = match (self.owner, hold.grant().owner()) {
            (Some(owner), Some(other)) => owner == other,
            _ => reentry == Reentry::Enters,
        };
        if shares && hold.units() >= share.units {
            // If another thread drops the last guard before the call can share the hold, the call waits like any
            // other.
            return Ok(hold.share().then(|| Holding::new(holds)));
        }
        // A task that has some permits of a semaphore may ask for more of them. A task that asks again for any other
        // lock would wait for itself.
        if share.kind == LockKind::Semaphore && reentry != Reentry::Deadlock {
            return Ok(None);
        }
        let name = self.name.to_string();
        Err(if reentry == Reentry::Refused {
            LockError::AlreadyHeld { name }
        } else if hold.is_valid() {
            LockError::waits_for_itself(&name)
        } else {
            hold.lost_error()
        })
    }

    /// Asks for the lock as a part of a call that already holds the locks `held`. Does not check whether the caller holds
    /// the lock itself.
    #[inline]
    pub(crate) fn enter(
        &self,
        caller: &Caller,
        share: Share,
        of_call: (Terms, &'static str),
        patience: Patience,
        held: &[Arc<Hold>],
    ) -> Result<Acquire, LockError> {
        let mut want = self.want(caller, share, of_call, patience)?;
        self.join(caller, &mut want, held)
    }

    /// Makes the request of `caller`.
    #[inline]
    pub(crate) fn want(
        &self,
        caller: &Caller,
        share: Share,
        (terms, label): (Terms, &'static str),
        patience: Patience,
    ) -> Result<Want, LockError> {
        let mut want = Want {
            share,
            owner: None,
            terms,
            patience,
            meta: self.meta.clone(),
            label,
            relies: false,
            past: Past::default(),
            by: caller.requester(),
        };
        if let Some(owner) = self.owner {
            owner.check()?;
            want.share.owner = Owner::in_store(self.owner);
            want.meta = Meta::owned(&self.meta, owner);
            want.owner = Some(owner.clone());
        }
        Ok(want)
    }

    /// Enters the queue. `held`: see [`Caller::sign`].
    pub(crate) fn join(
        &self,
        caller: &Caller,
        want: &mut Want,
        held: &[Arc<Hold>],
    ) -> Result<Acquire, LockError> {
        caller.sign(want, self.client.id(), held);
        Acquire::enter(self.client.member(), &self.name, want)
    }

    /// Logs and remembers `hold`, one of `holds`, which the call has obtained.
    pub(crate) fn obtained(&self, hold: &Arc<Hold>, holds: &Holds) {
        log_obtained(hold);
        if let Some(last) = self.last {
            last.remember(hold, holds);
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
