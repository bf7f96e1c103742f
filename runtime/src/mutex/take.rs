//! Taking the lock.

use std::sync::Arc;
use std::thread::{self, ThreadId};
use std::time::Duration;

use super::{Expire, Last, Mutex, MutexGuard, Named};
use crate::config::SHORTEST_EXPIRE;
use crate::error::LockError;
use crate::lease::{Hold, Terms};
use crate::queue::{Acquire, Patience, Want, home};
use crate::store::{Meta, Share};
use crate::task;
use crate::wait::lock;

/// Who takes a lock by hand, as far as that can be known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Identity {
    Task(tokio::task::Id),
    Thread(ThreadId),
}

impl Identity {
    fn current(blocking: bool) -> Option<Self> {
        let task = tokio::task::try_id().map(Self::Task);
        task.or_else(|| blocking.then(|| Self::Thread(thread::current().id())))
    }
}

/// The beginning of a call.
enum Started {
    /// The calling task has it already.
    Again(Arc<Hold>),
    Waiting(Acquire),
}

impl Mutex {
    /// Takes the lock; waits for it as `block` says.
    ///
    /// # Errors
    ///
    /// [`LockError::Timeout`] when `block` is over, [`LockError::TooManyAttempts`] after `retries`,
    /// [`LockError::AlreadyHeld`] inside a protected call of the same lock, [`LockError::Unavailable`] when the
    /// store does not answer, and the others of [`LockError`] as they say.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves the queue, or gives back what was granted meanwhile. Nothing stays behind.
    pub async fn lock(&self) -> Result<MutexGuard, LockError> {
        let hold = match self.start(false, None)? {
            Started::Again(hold) => hold,
            Started::Waiting(acquire) => acquire.await?,
        };
        Ok(self.guard(hold, false))
    }

    /// As [`lock`](Self::lock), blocking the thread.
    ///
    /// On the thread of a single-threaded runtime, a lock that one of its own tasks holds can never come free
    /// while this blocks: that is [`LockError::Deadlock`] instead.
    ///
    /// # Errors
    ///
    /// Those of [`lock`](Self::lock), and [`LockError::Deadlock`].
    pub fn blocking_lock(&self) -> Result<MutexGuard, LockError> {
        let hold = match self.start(true, None)? {
            Started::Again(hold) => hold,
            Started::Waiting(acquire) => acquire.blocking()?,
        };
        Ok(self.guard(hold, true))
    }

    /// Takes the lock if it is free, without waiting; `None` if somebody has it.
    ///
    /// # Errors
    ///
    /// Those of [`lock`](Self::lock) but the timeouts.
    ///
    /// # Cancel safety
    ///
    /// As [`lock`](Self::lock).
    pub async fn try_lock(&self) -> Result<Option<MutexGuard>, LockError> {
        let hold = match self.start(false, Some(NOT_AT_ALL)) {
            Ok(Started::Again(hold)) => Ok(hold),
            Ok(Started::Waiting(acquire)) => acquire.await,
            Err(error) => Err(error),
        };
        self.tried(hold, false)
    }

    /// As [`try_lock`](Self::try_lock), blocking the thread for one round trip to the store.
    ///
    /// # Errors
    ///
    /// Those of [`try_lock`](Self::try_lock).
    pub fn blocking_try_lock(&self) -> Result<Option<MutexGuard>, LockError> {
        let hold = match self.start(true, Some(NOT_AT_ALL)) {
            Ok(Started::Again(hold)) => Ok(hold),
            Ok(Started::Waiting(acquire)) => acquire.blocking(),
            Err(error) => Err(error),
        };
        self.tried(hold, true)
    }

    fn tried(
        &self,
        hold: Result<Arc<Hold>, LockError>,
        blocking: bool,
    ) -> Result<Option<MutexGuard>, LockError> {
        match hold {
            Ok(hold) => Ok(Some(self.guard(hold, blocking))),
            Err(
                LockError::Timeout { .. }
                | LockError::AlreadyHeld { .. }
                | LockError::Deadlock { .. },
            ) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn guard(&self, hold: Arc<Hold>, blocking: bool) -> MutexGuard {
        // First of all: whatever happens from here on, the lock is released.
        let guard = MutexGuard::new(hold);
        let hold = guard.hold();
        let grant = hold.grant();
        tracing::debug!(name = %hold.name(), token = grant.token, waited = ?grant.waited, "lock obtained");
        *lock(&self.last) = Last {
            hold: Arc::downgrade(hold),
            by: Identity::current(blocking),
        };
        guard
    }

    fn start(&self, blocking: bool, patience: Option<Patience>) -> Result<Started, LockError> {
        let (client, name) = self.resolve()?;
        let settings = client.member().settings();
        let expire = match self.options.expire {
            Some(Expire::After(expire)) if expire < SHORTEST_EXPIRE => {
                return Err(LockError::InvalidOption {
                    option: "expire",
                    reason: "shorter than 10 ms: it would be over before it could be used",
                });
            }
            Some(Expire::After(expire)) => Some(expire),
            Some(Expire::Never) => None,
            None => settings.expire,
        };
        if self
            .options
            .retries
            .is_some_and(|(_, interval)| interval.is_zero())
        {
            return Err(LockError::InvalidOption {
                option: "interval",
                reason: "retrying without a pause would only load the store: use more than zero",
            });
        }
        // One that was unlocked by its handle since does not stand in the way.
        let terms = Terms {
            expire,
            at_least: self.options.at_least,
        };
        let inside = task::find(client.id(), &name).filter(|hold| !hold.is_released());
        let held = match inside {
            Some(hold) if self.options.reentrant => Some(hold),
            Some(_) => {
                return Err(LockError::AlreadyHeld {
                    name: name.to_string(),
                });
            }
            None if self.options.reentrant => self.held_by_caller(blocking),
            None => None,
        };
        // Another thread may drop the last guard meanwhile: then it is asked for like any other.
        if let Some(hold) = held.filter(|hold| hold.share()) {
            if !hold.is_valid() {
                let error = hold.lost_error();
                // Releases it if it was the last one.
                drop(MutexGuard::new(hold));
                return Err(error);
            }
            hold.local().restart(&hold, terms);
            return Ok(Started::Again(hold));
        }
        let block = self.options.block.or(settings.block);
        let patience = patience.unwrap_or(match self.options.retries {
            Some((retries, interval)) => Patience::Poll {
                retries,
                interval,
                block,
            },
            None => Patience::Queue(block),
        });
        let want = Want {
            share: Share::of(1, 1),
            owner: None,
            terms,
            patience,
            meta: self.meta(&client),
            home: home(),
            blocking,
        };
        let member = client.member();
        let acquire = member.with_local(&name, |local| local.enter(want.clone()))??;
        Ok(Started::Waiting(acquire))
    }

    /// What the caller took by hand through this handle.
    fn held_by_caller(&self, blocking: bool) -> Option<Arc<Hold>> {
        let caller = Identity::current(blocking)?;
        let last = lock(&self.last);
        if last.by != Some(caller) {
            return None;
        }
        last.hold.upgrade().filter(|hold| hold.is_valid())
    }

    fn meta(&self, client: &crate::client::Client) -> Arc<str> {
        let site: &str = match &self.name {
            Named::Verbatim(name) => name,
            Named::Complete(_, site) => site,
        };
        let member = client.member();
        Meta::write(member.host(), member.pid(), site)
    }
}

const NOT_AT_ALL: Patience = Patience::Queue(Some(Duration::ZERO));
