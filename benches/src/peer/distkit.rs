//! distkit's `Mutex`, used as in its documentation: one connection for all tasks, and an awaited release.

use std::sync::Arc;
use std::time::Duration;

use distkit::DistkitRedisKey;
use distkit::lock::{LockOptions, Mutex, MutexGuard};
use redis::aio::ConnectionManager;

use super::{Access, Library, Lock};
use crate::Failure;

pub(crate) struct Distkit {
    connection: ConnectionManager,
    ttl: Duration,
}

impl Library for Distkit {
    type Lock = DistkitLock;

    async fn connect(access: &Access) -> Result<Self, Failure> {
        let client = redis::Client::open(&*access.url)?;
        Ok(Self {
            connection: client.get_connection_manager().await?,
            ttl: access.lease,
        })
    }

    fn lock(&self, key: &str, _task: usize) -> DistkitLock {
        // Its keys have no colons.
        let key = DistkitRedisKey::new_or_panic(key.replace(':', "-"));
        let mut options = LockOptions::new(key, self.connection.clone());
        options.ttl = self.ttl;
        DistkitLock(Mutex::new(options))
    }

    async fn close(self) {}
}

pub(crate) struct DistkitLock(Arc<Mutex>);

impl Lock for DistkitLock {
    type Guard = MutexGuard;

    async fn acquire(&mut self, _turn: u64) -> Result<MutexGuard, Failure> {
        Ok(self.0.lock().await?)
    }

    async fn release(&mut self, guard: MutexGuard) -> Result<(), Failure> {
        guard.release().await?;
        Ok(())
    }
}
