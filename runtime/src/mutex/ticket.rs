//! [`Ticket`]: a hold that is passed to another process.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use super::{MutexGuard, ONE_OF_ONE};
use crate::client::Client;
use crate::error::LockError;
use crate::handle::{Holding, log_obtained, want, within};
use crate::lease::Terms;
use crate::member::Caller;
use crate::name::Name;
use crate::observe::BY_HAND;
use crate::queue::{Acquire, Hold, Patience, Want};
use crate::store;

/// A text that identifies a held lock. With it, another process can take the lock over: see [`Client::adopt`].
///
/// [`MutexGuard::into_ticket`] makes a ticket. As text (`Display`, `FromStr`) it fits into a message or a job queue.
/// The store keeps the lock until its current lease ends, for at least two thirds of a lease. The other process must
/// adopt the lock in this time. Any process that has the text can adopt the lock, but only once.
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
        ticket.ok_or(LockError::InvalidOption {
            option: "ticket",
            reason: "this is not the text of a ticket",
        })
    }
}

impl MutexGuard {
    /// Ends this hold without releasing the lock, so that another process can take the lock over.
    ///
    /// The lease is not renewed after this call. Other guards that share the hold count as lost. The `at_least` of this
    /// hold no longer applies.
    ///
    /// # Errors
    ///
    /// [`LockError::Lost`] if the lock is no longer held.
    pub fn into_ticket(self) -> Result<Ticket, LockError> {
        self.check()?;
        let hold = self.holding.first();
        if !hold.local().hand_over(hold) {
            return Err(hold.lost_error());
        }
        Ok(Ticket {
            id: hold.grant().ticket,
            name: hold.name().clone(),
        })
    }
}

impl Client {
    /// Takes over a lock from the ticket of another process ([`MutexGuard::into_ticket`]), with a new fencing token.
    ///
    /// # Errors
    ///
    /// [`LockError::Lost`] if the ticket was already adopted, or the lease has ended. [`LockError::Unavailable`], and
    /// the errors of an unusable client.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the lock may or may not have been taken over. A lock that was taken over is then
    /// released.
    pub async fn adopt(&self, ticket: &Ticket) -> Result<MutexGuard, LockError> {
        Ok(adopted(self.adoption(ticket, false)?.await?, false))
    }

    /// Like [`adopt`](Self::adopt), but blocks the thread. The errors are the same.
    pub fn blocking_adopt(&self, ticket: &Ticket) -> Result<MutexGuard, LockError> {
        Ok(adopted(self.adoption(ticket, true)?.blocking()?, true))
    }

    fn adoption(&self, ticket: &Ticket, blocking: bool) -> Result<Acquire, LockError> {
        let member = self.member();
        let terms = Terms {
            expire: member.settings().expire,
            at_least: Duration::ZERO,
        };
        let patience = Patience::Once { silence: None };
        let meta = member.meta(ticket.name());
        let within = within(self.id(), blocking);
        if member.is_draining() && !within.is_nested(|caller| member.has_taken(caller)) {
            return Err(LockError::ShutDown);
        }
        let want = Want {
            within,
            ..want(ONE_OF_ONE, terms, patience, meta, BY_HAND, blocking)
        };
        member.with_queue(&ticket.name, |local| local.adopt(ticket.id, want.clone()))
    }
}

fn adopted(hold: Arc<Hold>, blocking: bool) -> MutexGuard {
    if let Some(caller) = Caller::current(blocking) {
        hold.taken_by(caller);
    }
    let holding = Holding::new(hold);
    log_obtained(holding.first());
    MutexGuard::new(holding)
}
