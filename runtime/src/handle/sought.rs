//! [`Sought`]: what a call is about, once it is known where that is.

use std::sync::Arc;

use super::last::Last;
use super::take::Started;
use super::{Demand, Holding, Nested, Options};
use crate::client::Client;
use crate::error::LockError;
use crate::lease::{Hold, Holds, Terms};
use crate::name::Name;
use crate::queue::{Acquire, Past, Patience, Want, home};
use crate::store::{Owner, Share, Text};
use crate::task;

/// What a call is about, all of it borrowed: calls of annotated functions need no handle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sought<'a> {
    pub(crate) client: &'a Client,
    pub(crate) name: &'a Name,
    /// Who has what is taken, if not the calling task.
    pub(crate) owner: Option<&'a Owner>,
    /// The memory of the handle, if the call has one.
    pub(super) last: Option<&'a Arc<Last>>,
}

impl<'a> Sought<'a> {
    /// Of a call without a handle.
    #[inline]
    pub(crate) fn new(client: &'a Client, name: &'a Name, owner: Option<&'a Owner>) -> Self {
        Self {
            client,
            name,
            owner,
            last: None,
        }
    }

    /// Begins a call. `patience` comes before that of the options.
    #[inline]
    pub(crate) fn start(
        &self,
        meta: &Text,
        options: &Options,
        demand: Demand,
        patience: Option<Patience>,
        blocking: bool,
    ) -> Result<Started, LockError> {
        let (terms, own) = options.apply(self.client.member().settings())?;
        if let Some(mut holding) = self.held_already(options.reentrant, demand, blocking)? {
            holding.check()?;
            holding.nest(terms.expire);
            holding.keep(terms.at_least);
            return Ok(Started::Obtained(holding));
        }
        let patience = patience.unwrap_or(own);
        let want = self.want(meta, demand, terms, patience, blocking)?;
        let recent = self.client.member().recent_local(self.name);
        if let Some(hold) = recent.and_then(|local| local.take_alone(&want)) {
            return Ok(Started::Obtained(Holding::new(hold)));
        }
        Ok(Started::Waiting(self.join(&want)?))
    }

    /// What the calling task has of it and may share; or why it may not ask for it.
    #[inline]
    pub(crate) fn held_already(
        &self,
        reentrant: bool,
        demand: Demand,
        blocking: bool,
    ) -> Result<Option<Holding>, LockError> {
        // One that was unlocked by its handle since does not stand in the way.
        let held = |hold: &Hold| !hold.is_released();
        let enough = |hold: &Hold| hold.units() >= demand.units;
        let inside = task::find(self.client.id(), self.name, held, enough);
        // Guards taken by hand need not end in order: none of them is inside another.
        let by_hand = || self.last.filter(|_| reentrant)?.of_caller(blocking, enough);
        match inside.or_else(|| by_hand().map(Holds::from)) {
            Some(holds) => self.shared(holds, reentrant, demand),
            None => Ok(None),
        }
    }

    /// Whether the calling task, which has the hold already, may share it.
    fn shared(
        &self,
        holds: Holds,
        reentrant: bool,
        demand: Demand,
    ) -> Result<Option<Holding>, LockError> {
        let hold = holds.first();
        let found = hold.grant().capacity;
        if found != demand.capacity {
            return Err(LockError::PermitsMismatch {
                name: self.name.to_string(),
                expected: demand.capacity,
                found,
            });
        }
        let shares = match (self.owner, &hold.grant().owner) {
            (Some(owner), Some(other)) => owner == other,
            _ => reentrant,
        };
        if shares && hold.units() >= demand.units {
            // Another thread may drop the last guard meanwhile: then it is asked for like any other.
            return Ok(hold.share().then(|| Holding::new(holds)));
        }
        match demand.nested {
            Nested::Another => Ok(None),
            Nested::Refused if !reentrant => Err(LockError::AlreadyHeld {
                name: self.name.to_string(),
            }),
            Nested::Refused if hold.is_valid() => {
                let name = self.name.to_string();
                Err(LockError::Deadlock {
                    cycle: vec![name.clone(), name],
                })
            }
            Nested::Refused => Err(hold.lost_error()),
        }
    }

    /// Asks for it like anybody else.
    #[inline]
    pub(crate) fn enter(
        &self,
        meta: &Text,
        demand: Demand,
        terms: Terms,
        patience: Patience,
        blocking: bool,
    ) -> Result<Acquire, LockError> {
        self.join(&self.want(meta, demand, terms, patience, blocking)?)
    }

    fn join(&self, want: &Want) -> Result<Acquire, LockError> {
        let member = self.client.member();
        member.with_local(self.name, |local| local.enter(want))?
    }

    #[inline]
    fn want(
        &self,
        meta: &Text,
        demand: Demand,
        terms: Terms,
        patience: Patience,
        blocking: bool,
    ) -> Result<Want, LockError> {
        if self.owner.is_some_and(|owner| owner.name().is_empty()) {
            return Err(LockError::InvalidOption {
                option: "owner",
                reason: "it is empty: name somebody, or leave it out",
            });
        }
        Ok(Want {
            share: Share {
                owner: Owner::in_store(self.owner),
                ..demand.share()
            },
            owner: self.owner.cloned(),
            terms,
            patience,
            meta: meta.clone(),
            home: home(),
            relies: false,
            blocking,
            past: Past::default(),
        })
    }
}
