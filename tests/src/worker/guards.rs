//! The guards of a worker, for all kinds of locks.

use std::time::Duration;

use auto_mutex::{
    Client, LockError, MultiGuard, MutexGuard, Permit, RwLockReadGuard, RwLockWriteGuard,
};

pub(super) enum Held {
    Mutex(MutexGuard),
    Permit(Permit),
    Read(RwLockReadGuard),
    Write(RwLockWriteGuard),
    Multi(MultiGuard),
}

/// Calls the same method on each kind of guard.
macro_rules! each {
    ($held:expr, $guard:ident => $call:expr) => {
        match $held {
            Held::Mutex($guard) => $call,
            Held::Permit($guard) => $call,
            Held::Read($guard) => $call,
            Held::Write($guard) => $call,
            Held::Multi($guard) => $call,
        }
    };
}

impl Held {
    /// Waits for the lock that `line` asks for.
    pub(super) async fn take(client: &Client, line: &str) -> Result<Self, LockError> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |word: &str| word.parse::<u32>().expect("a number");
        Ok(match words[..] {
            ["lock", name] => Self::Mutex(client.mutex(name).lock().await?),
            ["lock", name, millis] => {
                let block = Duration::from_millis(number(millis).into());
                Self::Mutex(client.mutex(name).block(block).lock().await?)
            }
            ["acquire", name, permits] => {
                let semaphore = client.semaphore(name, number(permits));
                Self::Permit(semaphore.acquire().await?)
            }
            _ => panic!("{line:?}"),
        })
    }

    pub(super) fn fencing_token(&self) -> u64 {
        each!(self, guard => guard.fencing_token())
    }

    pub(super) async fn lost(&self) {
        each!(self, guard => guard.lost().await);
    }

    pub(super) fn check(&self) -> Result<(), LockError> {
        each!(self, guard => guard.check())
    }

    /// Releases the lock. Returns whether it was still held.
    pub(super) async fn unlock(self) -> Result<bool, LockError> {
        let released = match self {
            Self::Mutex(guard) => guard.unlock().await,
            Self::Read(guard) => guard.unlock().await,
            Self::Write(guard) => guard.unlock().await,
            Self::Multi(guard) => guard.unlock().await,
            Self::Permit(permit) => permit.release().await.map(|_| true),
        };
        match released {
            Err(LockError::Lost { .. }) => Ok(false),
            released => released,
        }
    }
}
