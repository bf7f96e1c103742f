//! sqlx's `PgAdvisoryLock`. Each task keeps a connection of its own: a connection from a pool would be tested by one
//! more request each time.

use std::mem;
use std::sync::{Arc, Mutex, PoisonError};

use sqlx::postgres::{PgAdvisoryLock, PgAdvisoryLockGuard};
use sqlx::{Connection, PgConnection};

use super::{Access, Library, Lock};
use crate::Failure;

pub(crate) struct Advisory {
    free: Arc<Mutex<Vec<PgConnection>>>,
}

impl Library for Advisory {
    type Lock = AdvisoryLock;

    /// Opens a connection for each lock.
    async fn connect(access: &Access) -> Result<Self, Failure> {
        let mut free = Vec::with_capacity(access.locks);
        for _ in 0..access.locks {
            free.push(PgConnection::connect(&access.url).await?);
        }
        Ok(Self {
            free: Arc::new(Mutex::new(free)),
        })
    }

    fn lock(&self, key: &str, _task: usize) -> AdvisoryLock {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        AdvisoryLock {
            // A guard borrows the lock. There are few locks, and they last as long as the process.
            lock: Box::leak(Box::new(PgAdvisoryLock::new(key))),
            connection: free.pop(),
            free: self.free.clone(),
        }
    }

    /// The connections last until the process ends: their bytes are read before.
    async fn close(self) {
        mem::forget(self.free);
    }
}

pub(crate) struct AdvisoryLock {
    lock: &'static PgAdvisoryLock,
    /// `None` while the lock is held.
    connection: Option<PgConnection>,
    free: Arc<Mutex<Vec<PgConnection>>>,
}

impl Lock for AdvisoryLock {
    type Guard = PgAdvisoryLockGuard<'static, PgConnection>;

    async fn acquire(&mut self, _turn: u64) -> Result<Self::Guard, Failure> {
        let connection = self.connection.take().ok_or("no connection is free")?;
        Ok(self.lock.acquire(connection).await?)
    }

    async fn release(&mut self, guard: Self::Guard) -> Result<(), Failure> {
        self.connection = Some(guard.release_now().await?);
        Ok(())
    }
}

impl Drop for AdvisoryLock {
    fn drop(&mut self) {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        free.extend(self.connection.take());
    }
}
