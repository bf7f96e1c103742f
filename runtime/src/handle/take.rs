//! Taking a lock, of whatever kind.

use std::sync::Arc;
use std::time::Duration;

use super::{Demand, Handle, Holding, Nested, Options, Target};
use crate::error::LockError;
use crate::lease::{Hold, Terms};
use crate::queue::{Acquire, Patience, Want, home};
use crate::store::{Owner, Share};
use crate::task;

/// The beginning of a call.
pub(crate) enum Started {
    /// The calling task has it already.
    Again(Holding),
    Waiting(Acquire),
}

/// For calls that do not wait.
pub(crate) const NOT_AT_ALL: Patience = Patience::Queue(Some(Duration::ZERO));

impl Handle {
    pub(crate) async fn take(
        &self,
        options: &Options,
        demand: Demand,
    ) -> Result<Holding, LockError> {
        match self.start(options, demand, None, false)? {
            Started::Again(holding) => Ok(self.keep(holding, false)),
            Started::Waiting(acquire) => {
                let holding = Holding::new(acquire.await?);
                Ok(self.keep(holding, false))
            }
        }
    }

    #[inline]
    pub(crate) fn blocking_take(
        &self,
        options: &Options,
        demand: Demand,
    ) -> Result<Holding, LockError> {
        let holding = match self.start(options, demand, None, true)? {
            Started::Again(holding) => holding,
            Started::Waiting(acquire) => Holding::new(acquire.blocking()?),
        };
        Ok(self.keep(holding, true))
    }

    /// Takes it if that needs no waiting.
    pub(crate) async fn try_take(
        &self,
        options: &Options,
        demand: Demand,
    ) -> Result<Option<Holding>, LockError> {
        let tried = match self.start(options, demand, Some(NOT_AT_ALL), false) {
            Ok(Started::Again(holding)) => Ok(holding),
            Ok(Started::Waiting(acquire)) => acquire.await.map(Holding::new),
            Err(error) => Err(error),
        };
        self.tried(tried, false)
    }

    pub(crate) fn blocking_try_take(
        &self,
        options: &Options,
        demand: Demand,
    ) -> Result<Option<Holding>, LockError> {
        let tried = match self.start(options, demand, Some(NOT_AT_ALL), true) {
            Ok(Started::Again(holding)) => Ok(holding),
            Ok(Started::Waiting(acquire)) => acquire.blocking().map(Holding::new),
            Err(error) => Err(error),
        };
        self.tried(tried, true)
    }

    fn tried(
        &self,
        tried: Result<Holding, LockError>,
        blocking: bool,
    ) -> Result<Option<Holding>, LockError> {
        match tried {
            Ok(holding) => Ok(Some(self.keep(holding, blocking))),
            Err(error) if is_taken(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// What a call got is told, and remembered.
    #[inline]
    pub(crate) fn obtained(&self, hold: &Arc<Hold>, blocking: bool) {
        let grant = hold.grant();
        tracing::debug!(name = %hold.name(), token = grant.token, waited = ?grant.waited, "lock obtained");
        if let Some(last) = &self.last {
            last.remember(hold, blocking);
        }
    }

    #[inline]
    fn keep(&self, mut holding: Holding, blocking: bool) -> Holding {
        self.obtained(holding.first(), blocking);
        holding.last.clone_from(&self.last);
        holding
    }

    #[inline]
    fn start(
        &self,
        options: &Options,
        demand: Demand,
        patience: Option<Patience>,
        blocking: bool,
    ) -> Result<Started, LockError> {
        let target = self.resolve()?;
        let (terms, own) = options.apply(target.client.member().settings())?;
        let held = self.held_already(&target, options.reentrant, demand, blocking)?;
        if let Some(holding) = held {
            holding.check()?;
            if options.reentrant {
                holding.restart(terms);
            }
            return Ok(Started::Again(holding));
        }
        let patience = patience.unwrap_or(own);
        let acquire = self.enter(&target, demand, terms, patience, blocking)?;
        Ok(Started::Waiting(acquire))
    }

    /// What the calling task has of it and may share; or why it may not ask for it.
    pub(crate) fn held_already(
        &self,
        target: &Target<'_>,
        reentrant: bool,
        demand: Demand,
        blocking: bool,
    ) -> Result<Option<Holding>, LockError> {
        let Target { client, name } = target;
        // One that was unlocked by its handle since does not stand in the way.
        let held = |hold: &Hold| !hold.is_released();
        let enough = |hold: &Hold| hold.units() >= demand.units;
        let inside = task::find(client.id(), name, |hold| held(hold) && enough(hold))
            .or_else(|| task::find(client.id(), name, held));
        let by_hand = || {
            self.last
                .as_ref()
                .filter(|_| reentrant)?
                .of_caller(blocking, enough)
        };
        let Some(hold) = inside.or_else(by_hand) else {
            return Ok(None);
        };
        let found = hold.grant().capacity;
        if found != demand.capacity {
            return Err(LockError::PermitsMismatch {
                name: name.to_string(),
                expected: demand.capacity,
                found,
            });
        }
        let (owner, other) = (&self.owner, &hold.grant().owner);
        let shares = match (owner, other) {
            (Some(owner), Some(other)) => owner == other,
            _ => reentrant,
        };
        if shares && enough(&hold) {
            // Another thread may drop the last guard meanwhile: then it is asked for like any other.
            return Ok(hold.share().then(|| Holding::new(hold)));
        }
        match demand.nested {
            Nested::Another => Ok(None),
            Nested::Refused if !reentrant => Err(LockError::AlreadyHeld {
                name: name.to_string(),
            }),
            Nested::Refused if hold.is_valid() => {
                let name = name.to_string();
                Err(LockError::Deadlock {
                    cycle: vec![name.clone(), name],
                })
            }
            Nested::Refused => Err(hold.lost_error()),
        }
    }

    #[inline]
    fn share(&self, demand: Demand) -> Share {
        Share {
            owner: Owner::in_store(self.owner.as_ref()),
            ..demand.share()
        }
    }

    /// Asks for it like anybody else.
    #[inline]
    pub(crate) fn enter(
        &self,
        target: &Target<'_>,
        demand: Demand,
        terms: Terms,
        patience: Patience,
        blocking: bool,
    ) -> Result<Acquire, LockError> {
        let owner = self.owner()?;
        let want = Want {
            share: self.share(demand),
            owner: owner.cloned(),
            terms,
            patience,
            meta: self.address.meta(&target.client, owner)?,
            home: home(),
            relies: false,
            blocking,
        };
        target.enter(&want)
    }
}

/// Whether a call that does not wait just found it taken.
pub(crate) fn is_taken(error: &LockError) -> bool {
    matches!(
        error,
        LockError::Timeout { .. } | LockError::AlreadyHeld { .. } | LockError::Deadlock { .. }
    )
}
