//! rslock, used as in its documentation: one manager for all tasks, `acquire`, and an awaited release.

use std::time::Duration;

use rslock::{LockGuard, LockManager};

use super::{Access, Library, Lock};
use crate::Failure;

pub(crate) struct Rslock {
    manager: LockManager,
    ttl: Duration,
}

impl Library for Rslock {
    type Lock = RslockLock;

    /// Takes a lock once, because the manager would otherwise connect at the first turn.
    async fn connect(access: &Access) -> Result<Self, Failure> {
        let manager = LockManager::new(vec![access.url.clone()]);
        let warm = format!("bench:warm:{}", std::process::id());
        manager.acquire(&*warm, access.lease).await?.release().await;
        Ok(Self {
            manager,
            ttl: access.lease,
        })
    }

    fn lock(&self, key: &str, _task: usize) -> RslockLock {
        RslockLock {
            manager: self.manager.clone(),
            ttl: self.ttl,
            key: key.to_owned(),
        }
    }

    async fn close(self) {}
}

pub(crate) struct RslockLock {
    manager: LockManager,
    ttl: Duration,
    key: String,
}

impl Lock for RslockLock {
    type Guard = LockGuard;

    async fn acquire(&mut self, _turn: u64) -> Result<LockGuard, Failure> {
        Ok(self.manager.acquire(&*self.key, self.ttl).await?)
    }

    async fn release(&mut self, guard: LockGuard) -> Result<(), Failure> {
        guard.release().await;
        Ok(())
    }
}
