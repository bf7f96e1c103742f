//! Expansions cause no lints in the user's code: clippy checks this file like a user's code.
#![deny(
    warnings,
    unused,
    clippy::all,
    clippy::pedantic,
    clippy::nursery,
    rust_2018_idioms,
    let_underscore_drop
)]
#![deny(
    unused_qualifications,
    unused_lifetimes,
    single_use_lifetimes,
    missing_debug_implementations,
    unreachable_pub
)]
#![forbid(unsafe_code)]
#![allow(dead_code, reason = "it only has to compile")]

use std::future::Future;
use std::time::Duration;

use auto_mutex::{Client, LockError, Term, auto_leader};
use auto_mutex::{auto_mutex, auto_read, auto_semaphore, auto_write};

#[derive(Debug)]
struct Ledger {
    locks: Client,
    id: u32,
}

const SHORT: Duration = Duration::from_secs(5);

impl Ledger {
    #[auto_mutex(
        expire = SHORT,
        block = "2m",
        at_least = 0.001,
        ns = "n",
        key = (self.id, month),
        client = self.locks,
        guard = g,
        on_timeout = Self::busy,
        on_error = |error| Err(error),
        on_lost = finish
    )]
    async fn close(&self, month: u32) -> Result<u64, LockError> {
        std::future::ready(()).await;
        g.check()?;
        Ok(u64::from(month) + g.fencing_token())
    }

    #[auto_mutex(retries = 3, interval = 0.01, name = "x", client = &self.locks, on_timeout = |month| Ok(month.into()), on_error = panic)]
    fn open(&self, month: u32) -> Result<u64, LockError> {
        Ok(u64::from(month) + u64::from(self.id))
    }

    #[auto_mutex(client = self.locks, on_timeout = skip, on_error = skip)]
    fn nothing(&self) {
        drop(self.id.to_string());
    }

    #[auto_mutex(client = self.locks, on_timeout = async || std::future::ready(()).await, on_error = |_| async {})]
    async fn nothing_async(&self) {
        std::future::ready(()).await;
    }

    #[auto_mutex(client = self.locks)]
    fn made(&self) -> impl Future<Output = Result<u32, LockError>> + Send + '_ {
        let id = self.id;
        async move { Ok(id + self.id) }
    }

    #[auto_write(client = self.locks, guard = g)]
    fn write(&self, month: u32) -> Result<u64, LockError> {
        Ok(u64::from(month) + g.fencing_token())
    }

    #[auto_read(client = self.locks, key = "{month}")]
    async fn read(&self, month: u32) -> Result<u32, LockError> {
        std::future::ready(()).await;
        Ok(self.id + month)
    }

    #[auto_semaphore(permits = self.id, client = self.locks)]
    async fn limited(&self) -> Result<u32, LockError> {
        std::future::ready(()).await;
        Ok(self.id)
    }

    #[auto_mutex(keys = [self.id, 2], was = "n:old", client = self.locks, guard = g)]
    fn several(&self) -> Result<usize, LockError> {
        Ok(g.names().count())
    }

    #[auto_mutex(keys = ids, client = self.locks)]
    async fn each(&self, ids: &[u32]) -> Result<usize, LockError> {
        std::future::ready(()).await;
        Ok(ids.len())
    }

    #[auto_mutex(owner = self.id, client = self.locks)]
    fn owned(&self) -> Result<u32, LockError> {
        Ok(self.id)
    }

    #[auto_leader(
        key = (self.id, month),
        value = "{self.id}-{month}",
        stop_within = SHORT / 5,
        progress = 60,
        on_overrun = abort,
        client = self.locks
    )]
    async fn lead(&self, month: u32, term: &Term) -> Result<u64, LockError> {
        for _ in 0..month {
            term.check()?;
            std::future::ready(()).await;
        }
        Ok(term.number() + u64::from(month))
    }

    #[auto_leader(client = self.locks)]
    fn lead_sync(&self, _: &Term) -> Result<u32, LockError> {
        Ok(self.id)
    }

    fn busy(&self, month: u32) -> Result<u64, LockError> {
        let sum = month.checked_add(self.id).ok_or(LockError::NotSetUp)?;
        Ok(u64::from(sum))
    }
}
