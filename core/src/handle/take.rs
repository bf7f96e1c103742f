//! Takes a lock of any kind.

use super::{Handle, Holding, Options, Reentry};
use crate::caller::Caller;
use crate::error::LockError;
use crate::observe::ACQUIRE;
use crate::queue::{Acquire, Hold, Patience};
use crate::store::Share;
use crate::task::TaskId;
use crate::wait::proceed;

/// The state of a call for a lock after its start.
pub(crate) enum Taking {
    /// The lock was free, or the calling task holds it already.
    Obtained(Holding),
    Waiting(Acquire),
}

impl Taking {
    /// Waits for the lock, blocking the thread.
    #[inline]
    pub(crate) fn blocking(self) -> Result<Holding, LockError> {
        match self {
            Self::Obtained(holding) => Ok(holding),
            Self::Waiting(acquire) => acquire.blocking().map(Holding::new),
        }
    }
}

impl Handle {
    pub(crate) async fn take(&self, options: &Options, share: Share) -> Result<Holding, LockError> {
        proceed().await;
        let taking = self.start(options, share, None, false)?;
        let holding = match taking {
            Taking::Obtained(holding) => holding,
            Taking::Waiting(acquire) => Holding::new(acquire.await?),
        };
        Ok(self.keep(holding, options, false))
    }

    #[inline]
    pub(crate) fn blocking_take(
        &self,
        options: &Options,
        share: Share,
    ) -> Result<Holding, LockError> {
        let taking = self.start(options, share, None, true)?;
        Ok(self.keep(taking.blocking()?, options, true))
    }

    /// Takes the lock if the call need not wait.
    pub(crate) async fn try_take(
        &self,
        options: &Options,
        share: Share,
    ) -> Result<Option<Holding>, LockError> {
        proceed().await;
        let taken = match self.start(options, share, Some(Patience::NONE), false) {
            Ok(Taking::Obtained(holding)) => Ok(holding),
            Ok(Taking::Waiting(acquire)) => acquire.await.map(Holding::new),
            Err(error) => Err(error),
        };
        unless_taken(taken.map(|holding| self.keep(holding, options, false)))
    }

    pub(crate) fn blocking_try_take(
        &self,
        options: &Options,
        share: Share,
    ) -> Result<Option<Holding>, LockError> {
        let taking = self.start(options, share, Some(Patience::NONE), true);
        let taken = taking.and_then(Taking::blocking);
        unless_taken(taken.map(|holding| self.keep(holding, options, true)))
    }

    #[inline]
    fn start(
        &self,
        options: &Options,
        share: Share,
        patience: Option<Patience>,
        blocking: bool,
    ) -> Result<Taking, LockError> {
        let caller = Caller::current(blocking);
        self.resolve(&caller)?
            .start(&caller, options, share, patience)
    }

    #[inline]
    fn keep(&self, mut holding: Holding, options: &Options, blocking: bool) -> Holding {
        log_obtained(holding.first());
        if let Some(last) = &self.last {
            last.remember(holding.first(), holding.holds());
        }
        let stays = options.reentry == Reentry::Enters;
        holding.taken_by(TaskId::current(blocking), stays);
        holding.last.clone_from(&self.last);
        holding
    }
}

/// Logs that a call has obtained `hold`, and reports the hold to the observer.
#[inline]
pub(crate) fn log_obtained(hold: &Hold) {
    hold.begin();
    let grant = hold.grant();
    tracing::debug!(target: ACQUIRE, name = %hold.name(), token = grant.token, waited = ?grant.waited, "lock obtained");
}

/// Converts the result of a call that does not wait: `None` if the lock was taken, by another caller or by this one.
pub(crate) fn unless_taken<T>(taken: Result<T, LockError>) -> Result<Option<T>, LockError> {
    match taken {
        Ok(taken) => Ok(Some(taken)),
        Err(
            LockError::Timeout { .. } | LockError::AlreadyHeld { .. } | LockError::Deadlock { .. },
        ) => Ok(None),
        Err(error) => Err(error),
    }
}
