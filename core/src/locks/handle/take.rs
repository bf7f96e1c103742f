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
    /// A call that only tries does not wait, whatever the options say.
    pub(crate) async fn take<G: From<Holding>>(
        &self,
        share: Share,
        tries: bool,
    ) -> Result<G, LockError> {
        proceed().await;
        let hold = {
            let mut acquire = match self.start(share, tries, false)? {
                Taking::Obtained(holding) => return Ok(self.keep(holding, false).into()),
                Taking::Waiting(acquire) => acquire,
            };
            // By reference: a call that waits would have it twice.
            (&mut acquire).await?
        };
        Ok(self.keep(Holding::new(hold), false).into())
    }

    #[inline]
    pub(crate) fn blocking_take<G: From<Holding>>(
        &self,
        share: Share,
        tries: bool,
    ) -> Result<G, LockError> {
        let holding = self.start(share, tries, true)?.blocking()?;
        Ok(self.keep(holding, true).into())
    }

    pub(crate) async fn try_take<G: From<Holding>>(
        &self,
        share: Share,
    ) -> Result<Option<G>, LockError> {
        unless_taken(self.take(share, true).await)
    }

    pub(crate) fn blocking_try_take<G: From<Holding>>(
        &self,
        share: Share,
    ) -> Result<Option<G>, LockError> {
        unless_taken(self.blocking_take(share, true))
    }

    #[inline]
    fn start(&self, share: Share, tries: bool, blocking: bool) -> Result<Taking, LockError> {
        let caller = Caller::current(blocking);
        let patience = tries.then_some(Patience::NONE);
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
