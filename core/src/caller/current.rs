//! [`current`]: the locks of the body that runs here.

use std::fmt;

use super::frames::innermost;
use crate::base::error::LockError;
use crate::queue::Holds;

/// The locks of the innermost protected body that runs here: that of an annotated function, of `synchronize`, or of a
/// [`Leader`](crate::Leader). A function that the body calls need not be given the guard:
///
/// ```
/// use auto_mutex::{LockError, auto_mutex};
///
/// #[auto_mutex(key = month)]
/// fn close(month: u32) -> Result<(), LockError> {
///     write(month)
/// }
///
/// fn write(month: u32) -> Result<(), LockError> {
///     let lock = auto_mutex::current()?;
///     println!("{month}: {} with token {}", lock.name(), lock.fencing_token());
///     Ok(())
/// }
/// # let client = auto_mutex::Client::connect("memory://").unwrap();
/// # client.blocking_scope(|| close(5)).unwrap();
/// ```
///
/// The bodies are those of this task (or thread, without tasks). Get the result before you spawn a task or thread, and
/// move it there.
///
/// # Errors
///
/// [`LockError::NotProtected`] if no such body runs here. [`LockError::Lost`] if a lock is lost: the body should end.
pub fn current() -> Result<Current, LockError> {
    let holds = innermost().ok_or(LockError::NotProtected)?;
    holds.check()?;
    Ok(Current { holds })
}

/// The locks of a protected body: see [`current`]. They are released when the body ends, whether or not this value is
/// still there.
#[derive(Clone)]
pub struct Current {
    holds: Holds,
}

impl Current {
    /// The complete name of the lock, with the namespace, as in errors; the first one, if there are several.
    #[must_use]
    pub fn name(&self) -> &str {
        self.holds.first().name().as_str()
    }

    /// A number that grows with every grant of this lock, for the protected resource to check. If there are several,
    /// the greatest: see [`MultiGuard::fencing_token`](crate::MultiGuard::fencing_token). It fits into a signed 64-bit
    /// column.
    #[must_use]
    pub fn fencing_token(&self) -> u64 {
        self.holds.token()
    }

    /// The complete name and the fencing token of each lock, in the order in which they were taken.
    pub fn each(&self) -> impl Iterator<Item = (&str, u64)> {
        let holds = self.holds.all().iter();
        holds.map(|hold| (hold.name().as_str(), hold.grant.token))
    }

    /// Returns an error if a lock is no longer held, for use with `?`. Does not ask the store.
    ///
    /// # Errors
    ///
    /// [`LockError::Lost`].
    pub fn check(&self) -> Result<(), LockError> {
        self.holds.check()
    }

    /// For the crate `auto-mutex-fence`.
    #[doc(hidden)]
    #[must_use]
    pub fn fencing_tokens(&self) -> Vec<crate::queue::FencingToken> {
        self.holds.fencing_tokens()
    }
}

impl fmt::Debug for Current {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Current")
            .field("name", &self.name())
            .field("fencing_token", &self.fencing_token())
            .finish_non_exhaustive()
    }
}
