//! Taking a lock, of whatever kind.

use std::sync::Arc;

use super::{Demand, Handle, Holding, Options, Sought, Target};
use crate::error::LockError;
use crate::lease::{Hold, Holds, Terms};
use crate::queue::{Acquire, Patience};

/// The beginning of a call.
pub(crate) enum Started {
    /// It has begun and ended: what was asked for was free, or the calling task has it already.
    Obtained(Holding),
    Waiting(Acquire),
}

impl Handle {
    pub(crate) async fn take(
        &self,
        options: &Options,
        demand: Demand,
    ) -> Result<Holding, LockError> {
        match self.start(options, demand, None, false)? {
            Started::Obtained(holding) => Ok(self.keep(holding, false)),
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
            Started::Obtained(holding) => holding,
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
        let tried = match self.start(options, demand, Some(Patience::NONE), false) {
            Ok(Started::Obtained(holding)) => Ok(holding),
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
        let tried = match self.start(options, demand, Some(Patience::NONE), true) {
            Ok(Started::Obtained(holding)) => Ok(holding),
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
    pub(crate) fn obtained(&self, hold: &Arc<Hold>, holds: &Holds, blocking: bool) {
        tell(hold);
        if let Some(last) = &self.last {
            last.remember(hold, holds, blocking);
        }
    }

    #[inline]
    fn keep(&self, mut holding: Holding, blocking: bool) -> Holding {
        self.obtained(holding.first(), holding.holds(), blocking);
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
        let meta = self.address.meta(&target.client, self.owner.as_ref())?;
        self.sought(&target)
            .start(&meta, options, demand, patience, blocking)
    }

    fn sought<'a>(&'a self, target: &'a Target<'_>) -> Sought<'a> {
        Sought {
            last: self.last.as_ref(),
            ..Sought::new(&target.client, &target.name, self.owner.as_ref())
        }
    }

    /// What the calling task has of it and may share; or why it may not ask for it.
    pub(crate) fn held_already(
        &self,
        target: &Target<'_>,
        reentrant: bool,
        demand: Demand,
        blocking: bool,
    ) -> Result<Option<Holding>, LockError> {
        self.sought(target)
            .held_already(reentrant, demand, blocking)
    }

    /// Asks for it like anybody else.
    pub(crate) fn enter(
        &self,
        target: &Target<'_>,
        demand: Demand,
        terms: Terms,
        patience: Patience,
        blocking: bool,
    ) -> Result<Acquire, LockError> {
        let meta = self.address.meta(&target.client, self.owner.as_ref())?;
        self.sought(target)
            .enter(&meta, demand, terms, patience, blocking)
    }
}

/// What a call without a handle got is told.
pub(crate) fn obtained(holding: &Holding) {
    tell(holding.first());
}

fn tell(hold: &Hold) {
    let grant = hold.grant();
    tracing::debug!(name = %hold.name(), token = grant.token, waited = ?grant.waited, "lock obtained");
}

/// Whether a call that does not wait just found it taken.
pub(crate) fn is_taken(error: &LockError) -> bool {
    matches!(
        error,
        LockError::Timeout { .. } | LockError::AlreadyHeld { .. } | LockError::Deadlock { .. }
    )
}
