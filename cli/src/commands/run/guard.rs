//! [`Guard`]: the lock that the command runs under.

use std::time::Duration;

use auto_mutex::{Client, LockError, MutexGuard, Permit};

use crate::args::Run;

/// A hold of a mutex, or of a semaphore with `--semaphore`.
pub(super) enum Guard {
    Mutex(MutexGuard),
    Permit(Permit),
}

impl Guard {
    pub(super) async fn take(client: &Client, args: &Run) -> Result<Self, LockError> {
        // Without `--expire`, there is no limit: the lock is released when the command ends, or expires with its lease
        // if this process dies.
        macro_rules! with_options {
            ($handle:expr) => {{
                let mut handle = match args.expire {
                    Some(expire) => $handle.expire(expire),
                    None => $handle.never_expire(),
                };
                if let Some(block) = args.block {
                    handle = handle.block(block);
                }
                if let Some(at_least) = args.at_least {
                    handle = handle.at_least(at_least);
                }
                handle
            }};
        }
        Ok(match args.semaphore {
            None => Self::Mutex(with_options!(client.mutex(&args.name)).lock().await?),
            Some(permits) => {
                let semaphore = with_options!(client.semaphore(&args.name, permits));
                Self::Permit(semaphore.acquire().await?)
            }
        })
    }

    pub(super) fn token(&self) -> u64 {
        match self {
            Self::Mutex(guard) => guard.fencing_token(),
            Self::Permit(permit) => permit.fencing_token(),
        }
    }

    /// The time until the lock is lost, unless its lease is renewed.
    pub(super) fn ends_in(&self) -> Duration {
        match self {
            Self::Mutex(guard) => guard.ends_in(),
            Self::Permit(permit) => permit.ends_in(),
        }
    }

    pub(super) fn expires_in(&self) -> Duration {
        match self {
            Self::Mutex(guard) => guard.expires_in(),
            Self::Permit(permit) => permit.expires_in(),
        }
    }

    pub(super) async fn lost(&self) {
        match self {
            Self::Mutex(guard) => guard.lost().await,
            Self::Permit(permit) => permit.lost().await,
        }
    }

    pub(super) fn check(&self) -> Result<(), LockError> {
        match self {
            Self::Mutex(guard) => guard.check(),
            Self::Permit(permit) => permit.check(),
        }
    }

    /// Releases the lock, and waits for the store to confirm.
    pub(super) async fn release(self) -> Result<(), LockError> {
        match self {
            Self::Mutex(guard) => guard.unlock().await.map(drop),
            Self::Permit(permit) => permit.release().await.map(drop),
        }
    }
}
