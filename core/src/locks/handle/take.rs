//! Takes a lock of any kind through its handle.

use super::{Handle, Holding, Reentry};
use crate::base::duration::rounded;
use crate::base::error::LockError;
use crate::base::task::TaskId;
use crate::base::wait::proceed;
use crate::caller::Caller;
use crate::observe::ACQUIRE;
use crate::queue::{Acquire, Hold, Patience};
use crate::store::Share;

pub(crate) enum Taking {
    Obtained(Holding),
    Waiting(Acquire),
}

impl Taking {
    #[inline]
    pub(crate) fn blocking(self) -> Result<Holding, LockError> {
        match self {
            Self::Obtained(holding) => Ok(holding),
            Self::Waiting(acquire) => acquire.blocking().map(Holding::new),
        }
    }
}

impl Handle {
    /// `patience`, if given, overrides the options.
    pub(crate) async fn take<G: From<Holding>>(
        &self,
        share: Share,
        patience: Option<Patience>,
    ) -> Result<G, LockError> {
        proceed().await;
        let holding = match self.start(share, patience, false)? {
            Taking::Obtained(holding) => holding,
            Taking::Waiting(acquire) => Holding::new(acquire.await?),
        };
        Ok(self.keep(holding, false).into())
    }

    #[inline]
    pub(crate) fn blocking_take<G: From<Holding>>(
        &self,
        share: Share,
        patience: Option<Patience>,
    ) -> Result<G, LockError> {
        let holding = self.start(share, patience, true)?.blocking()?;
        Ok(self.keep(holding, true).into())
    }

    pub(crate) async fn try_take<G: From<Holding>>(
        &self,
        share: Share,
    ) -> Result<Option<G>, LockError> {
        unless_taken(self.take(share, Some(Patience::NONE)).await)
    }

    pub(crate) fn blocking_try_take<G: From<Holding>>(
        &self,
        share: Share,
    ) -> Result<Option<G>, LockError> {
        unless_taken(self.blocking_take(share, Some(Patience::NONE)))
    }

    #[inline]
    fn start(
        &self,
        share: Share,
        patience: Option<Patience>,
        blocking: bool,
    ) -> Result<Taking, LockError> {
        let caller = Caller::current(blocking);
        self.resolve(&caller)?
            .start(&caller, &self.options, share, patience)
    }

    #[inline]
    fn keep(&self, mut holding: Holding, blocking: bool) -> Holding {
        log_obtained(holding.first());
        self.last.remember(holding.first(), holding.holds());
        let stays = self.options.reentry == Reentry::Enters;
        holding.taken_by(TaskId::current(blocking), stays);
        holding.last = Some(self.last.clone());
        holding
    }
}

/// Logs that a call has obtained `hold`, and reports the hold to the observer.
#[inline]
pub(crate) fn log_obtained(hold: &Hold) {
    hold.begin();
    tracing::debug!(target: ACQUIRE, name = %hold.name(), token = hold.grant.token, waited = ?rounded(hold.waited()), "lock obtained");
}

/// The result for a call that does not wait: `None` if any caller already holds the lock.
pub(crate) fn unless_taken<T>(taken: Result<T, LockError>) -> Result<Option<T>, LockError> {
    match taken {
        Ok(taken) => Ok(Some(taken)),
        Err(
            LockError::Timeout { .. } | LockError::AlreadyHeld { .. } | LockError::Deadlock { .. },
        ) => Ok(None),
        Err(error) => Err(error),
    }
}
