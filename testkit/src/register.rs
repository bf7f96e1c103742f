//! [`Register`]: a resource that checks fencing tokens.

use std::ops::DerefMut;
use std::sync::{Mutex, PoisonError};

use thiserror::Error;

/// A cell that refuses stale fencing tokens, in place of a database or another resource that does. It keeps every write
/// that it accepted.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use auto_mutex::test::Register;
///
/// let client = auto_mutex::Client::connect("memory://")?;
/// let balance = Register::new();
/// let token = || client.mutex("account").blocking_lock().map(|guard| guard.fencing_token());
/// let (old, new) = (token()?, token()?); // the holder of the old one is slow
/// balance.write(new, 100)?;
/// assert!(balance.write(old, 50).is_err());
/// assert_eq!(balance.read(), Some(100));
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Register<T>(Mutex<Accepted<T>>);

#[derive(Debug)]
struct Accepted<T> {
    newest: u64,
    writes: Vec<(u64, T)>,
}

/// The error of a write whose fencing token is older than that of an earlier write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the fencing token {ours} is stale: {newest} has written")]
#[non_exhaustive]
pub struct Stale {
    /// The token of the refused write.
    pub ours: u64,
    /// The greatest token so far.
    pub newest: u64,
}

impl<T> Default for Register<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Register<T> {
    /// A register that nobody has written to yet.
    #[must_use]
    pub const fn new() -> Self {
        Self(Mutex::new(Accepted {
            newest: 0,
            writes: Vec::new(),
        }))
    }

    /// Writes `value`, with the fencing token of a guard, of [`current`](fn@auto_mutex_core::current), of a leader's
    /// term, or from elsewhere. A holder may write several times.
    ///
    /// # Errors
    ///
    /// [`Stale`] if there was a write with a greater token.
    pub fn write(&self, ours: u64, value: T) -> Result<(), Stale> {
        let mut accepted = self.lock();
        accepted.fence(ours)?;
        accepted.writes.push((ours, value));
        Ok(())
    }

    /// Only refuses stale tokens, from now on also all that are older than `ours`: what a fence in a transaction does,
    /// before writes that this register does not see.
    ///
    /// # Errors
    ///
    /// [`Stale`] if there was a greater token.
    pub fn fence(&self, ours: u64) -> Result<(), Stale> {
        self.lock().fence(ours)
    }

    fn lock(&self) -> impl DerefMut<Target = Accepted<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Accepted<T> {
    fn fence(&mut self, ours: u64) -> Result<(), Stale> {
        let newest = self.newest;
        if ours < newest {
            return Err(Stale { ours, newest });
        }
        self.newest = ours;
        Ok(())
    }
}

impl<T: Clone> Register<T> {
    /// The last value; `None` before the first write.
    pub fn read(&self) -> Option<T> {
        self.lock().writes.last().map(|(_, value)| value.clone())
    }

    /// The tokens and the values of all accepted writes, oldest first.
    pub fn writes(&self) -> Vec<(u64, T)> {
        self.lock().writes.clone()
    }
}
