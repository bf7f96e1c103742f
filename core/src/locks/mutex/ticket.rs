//! [`Ticket`]: the ticket of a hold, with which another process takes the hold over.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::MutexGuard;
use crate::base::error::LockError;
use crate::base::name::Name;
use crate::base::task::TaskId;
use crate::caller::Caller;
use crate::lease::Tenure;
use crate::locks::client::Client;
use crate::locks::handle::{AcquireTarget, Holding, log_obtained};
use crate::observe::BY_HAND;
use crate::queue::{Acquire, Hold, Patience};
use crate::store::{self, Share};

/// The ticket under which the store knows a held lock. Another process can take the lock over with it: see
/// [`Client::adopt`].
///
/// [`MutexGuard::into_ticket`] returns it. As text (`Display`, `FromStr`) it fits into a message or a job queue.
/// The store keeps the lock until its current lease ends, which is at least two thirds of a lease; the other process
/// must adopt it within that time. Any process with the text can adopt the lock, but only once.
///
/// ```
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// # let (here, there) = (auto_mutex::Client::connect("memory://doc")?, auto_mutex::Client::connect("memory://doc")?);
/// let guard = here.mutex("reports").lock().await?;
/// let text = guard.into_ticket()?.to_string();
/// // … in another process:
/// let guard = there.adopt(&text.parse()?).await?;
/// assert!(guard.unlock().await?);
/// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "the lock is held by nobody until the ticket is adopted"]
pub struct Ticket {
    id: store::Ticket,
    name: Name,
}

impl Ticket {
    /// The complete name of the lock.
    #[must_use]
    pub fn name(&self) -> &str {
        self.name.as_str()
    }
}

impl fmt::Display for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.id, self.name)
    }
}

impl FromStr for Ticket {
    type Err = LockError;

    fn from_str(text: &str) -> Result<Self, LockError> {
        let parts = text.split_once('@');
        let ticket = parts.and_then(|(id, name)| {
            Some(Self {
                id: store::Ticket::parse(id)?,
                name: Name::parse(name)?,
            })
        });
        let reason = "this is not the text of a ticket";
        ticket.ok_or(LockError::invalid("ticket", reason))
    }
}

impl MutexGuard {
    /// Ends this hold without releasing the lock, so that another process can take it over.
    ///
    /// The lease is no longer renewed. Other guards that share the hold count as lost, and its `at_least` no longer
    /// applies.
    ///
    /// # Errors
    ///
    /// [`LockError::Lost`] if the lock is no longer held.
    pub fn into_ticket(self) -> Result<Ticket, LockError> {
        self.check()?;
        let hold = self.holding.first();
        if !hold.export() {
            return Err(hold.lost_error());
        }
        Ok(Ticket {
            id: hold.grant.ticket,
            name: hold.name().clone(),
        })
    }

    fn adopted(hold: Arc<Hold>, blocking: bool) -> Self {
        hold.taken_by(TaskId::current(blocking));
        log_obtained(&hold);
        Holding::new(hold).into()
    }
}

impl Client {
    /// Takes over a lock, with a new fencing token, by a ticket from another process ([`MutexGuard::into_ticket`]).
    ///
    /// # Errors
    ///
    /// [`LockError::Lost`] if the ticket was already adopted, or the lease has ended. [`LockError::Unavailable`], and
    /// the errors of an unusable client.
    ///
    /// # Cancel safety
    ///
    /// After dropping the future, the lock may or may not have been taken over. If it was, it is then released.
    pub async fn adopt(&self, ticket: &Ticket) -> Result<MutexGuard, LockError> {
        let adopted = self.adoption(false, ticket)?.await?;
        Ok(MutexGuard::adopted(adopted, false))
    }

    /// Like [`adopt`](Self::adopt), but blocks the thread. The errors are the same.
    pub fn blocking_adopt(&self, ticket: &Ticket) -> Result<MutexGuard, LockError> {
        let adopted = self.adoption(true, ticket)?.blocking()?;
        Ok(MutexGuard::adopted(adopted, true))
    }

    fn adoption(&self, blocking: bool, ticket: &Ticket) -> Result<Acquire, LockError> {
        let (caller, core) = (Caller::current(blocking), self.core());
        let tenure = Tenure {
            expire: core.settings().expire,
            ..Tenure::default()
        };
        let patience = Patience::Once { silence: None };
        let (name, meta) = (Cow::Borrowed(&ticket.name), core.meta(ticket.name()));
        let target = AcquireTarget::new(Cow::Borrowed(self), name, meta, None);
        let mut want = target.want(Share::MUTEX, tenure, patience)?;
        let by = caller.sign(&mut want, BY_HAND, self.id(), &[]);
        if core.is_draining() && !by.is_nested(|task| core.has_taken(task)) {
            return Err(LockError::ShutDown);
        }
        core.with_queue(&ticket.name, |local| local.adopt(ticket.id, &want, &by))
    }
}
