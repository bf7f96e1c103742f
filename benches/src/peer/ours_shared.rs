//! auto-mutex's semaphore and readers-writer lock.

use auto_mutex::{Client, Permit, RwLock, RwLockReadGuard, RwLockWriteGuard, Semaphore};

use super::{Access, Library, Lock, ours};
use crate::Failure;

pub(crate) const PERMITS: u32 = 8;

/// Units of a readers-writer lock: a reader takes one unit, a writer takes all.
pub(crate) const READERS: u64 = 1 << 30;

/// In one of this many turns, the lock is taken for writing.
const WRITES: u64 = 10;

pub(crate) struct OursSemaphore(Client);

impl Library for OursSemaphore {
    type Lock = Permits;

    async fn connect(access: &Access) -> Result<Self, Failure> {
        let client = ours::connect(access.contender, &access.url, access.lease)?;
        Ok(Self(client))
    }

    fn lock(&self, key: &str, _task: usize) -> Permits {
        Permits(self.0.semaphore(key, PERMITS))
    }

    async fn close(self) {
        self.0.shutdown().await;
    }
}

pub(crate) struct Permits(Semaphore);

impl Lock for Permits {
    type Guard = Permit;

    async fn acquire(&mut self, _turn: u64) -> Result<Permit, Failure> {
        Ok(self.0.acquire().await?)
    }

    async fn release(&mut self, guard: Permit) -> Result<(), Failure> {
        drop(guard);
        Ok(())
    }
}

pub(crate) struct OursRwLock(Client);

impl Library for OursRwLock {
    type Lock = ReadOrWrite;

    async fn connect(access: &Access) -> Result<Self, Failure> {
        let client = ours::connect(access.contender, &access.url, access.lease)?;
        Ok(Self(client))
    }

    fn lock(&self, key: &str, task: usize) -> ReadOrWrite {
        ReadOrWrite {
            lock: self.0.rw_lock(key),
            offset: task as u64,
        }
    }

    async fn close(self) {
        self.0.shutdown().await;
    }
}

pub(crate) struct ReadOrWrite {
    lock: RwLock,
    /// Offsets of the tasks differ, so that they do not all write in the same turn.
    offset: u64,
}

impl ReadOrWrite {
    fn writes(&self, turn: u64) -> bool {
        (turn + self.offset).is_multiple_of(WRITES)
    }
}

/// A guard whose drop releases the lock.
pub(crate) enum Held {
    Reading(#[allow(dead_code, reason = "held, not used")] RwLockReadGuard),
    Writing(#[allow(dead_code, reason = "held, not used")] RwLockWriteGuard),
}

impl Lock for ReadOrWrite {
    type Guard = Held;

    async fn acquire(&mut self, turn: u64) -> Result<Held, Failure> {
        Ok(if self.writes(turn) {
            Held::Writing(self.lock.write().await?)
        } else {
            Held::Reading(self.lock.read().await?)
        })
    }

    async fn release(&mut self, guard: Held) -> Result<(), Failure> {
        drop(guard);
        Ok(())
    }

    fn units(&self, turn: u64) -> u64 {
        if self.writes(turn) { READERS } else { 1 }
    }
}
