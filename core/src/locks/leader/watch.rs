//! [`LeaderWatch`]: tells who leads. Watchers wait for a signal, which each leader sends when its term begins and after
//! it has ended. A leader that dies sends none, so they also look when its lease may have ended.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::SystemTime;

use auto_mutex_protocol::leading::looks_at;

use crate::base::clock::{self, Instant};
use crate::base::error::{Holder, LockError};
use crate::base::name::{Name, WATCHERS};
use crate::base::wait::{block_on, first};
use crate::caller::Caller;
use crate::locks::client::Client;
use crate::locks::handle::{Handle, Holding};
use crate::queue::{Acquire, ClientCore, Patience};
use crate::store::TOKENS_OF_A_GRANT;
use crate::store::{NameRecord, Op, RandomId, Share, Signal, Ticket, meta};

/// Who leads.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeaderInfo {
    /// The process that leads.
    pub holder: Holder,
    /// The [`value`](crate::Leader::value) that it published.
    pub value: String,
    /// The [number](crate::Term::number) of its term.
    pub term: u64,
    /// When its term began, by the store's clock.
    pub since: SystemTime,
}

impl LeaderInfo {
    pub(super) fn of(record: &NameRecord) -> Option<Self> {
        let leads = |ticket: &&crate::store::TicketRecord| !ticket.kept && !ticket.parked;
        let ticket = record.holders.iter().find(leads)?;
        let holder = meta::describe(ticket, record.capacity.unwrap_or(0))?;
        Some(Self {
            value: meta::leads(&ticket.meta).unwrap_or_default(),
            term: ticket.token.saturating_mul(TOKENS_OF_A_GRANT),
            since: holder.since,
            holder,
        })
    }
}

/// Tells each change of the leader: made by [`Leader::watch`](crate::Leader::watch).
///
/// ```
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// use auto_mutex::{Client, LockError};
///
/// let (here, there) = (Client::connect("memory://lead")?, Client::connect("memory://lead")?);
/// let mut watch = here.leader("scheduler").watch();
/// let leader = there.leader("scheduler").value("10.0.0.5:9000");
/// leader.lead(async |term| {
///     let info = watch.changed().await?.expect("a leader");
///     assert_eq!((info.term, info.value), (term.number(), "10.0.0.5:9000".to_owned()));
///     Ok::<_, LockError>(())
/// })
/// .await?;
/// assert_eq!(watch.changed().await?, None);
/// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "it tells nothing until it is asked"]
pub struct LeaderWatch {
    handle: Handle,
    told: Option<LeaderInfo>,
    waiting: Option<Waiting>,
}

struct Waiting {
    client: Client,
    name: Name,
    signal: Acquire,
    registered: bool,
}

impl LeaderWatch {
    pub(super) fn of(handle: Handle) -> Self {
        Self {
            handle,
            told: None,
            waiting: None,
        }
    }

    /// Waits until somebody else leads than the last call told, or nobody does, and returns who. The first call returns
    /// as soon as somebody leads.
    ///
    /// Between two changes, a watch sends a small request every third of a lease, which keeps its place, and one per
    /// lease to see whether the leader is alive. Changes that follow each other quickly may be told as one.
    ///
    /// # Errors
    ///
    /// [`LockError::Unavailable`], [`LockError::ShutDown`] when the client drains or was shut down, and those of an
    /// unusable client or name. The watch can be used again after an error.
    ///
    /// # Cancel safety
    ///
    /// No change is missed if the future is dropped: the next call tells it.
    pub async fn changed(&mut self) -> Result<Option<LeaderInfo>, LockError> {
        let mut was_told = false;
        loop {
            let waiting = match &mut self.waiting {
                Some(waiting) => waiting,
                none => none.insert(Waiting::register(&self.handle)?),
            };
            if !waiting.registered {
                waiting.signal.registered().await;
                waiting.registered = true;
            }
            let record = self.handle.inspect().await?;
            let leader = LeaderInfo::of(&record);
            let term = |leader: &Option<LeaderInfo>| leader.as_ref().map(|leader| leader.term);
            if term(&leader) != term(&self.told) {
                self.told.clone_from(&leader);
                return Ok(leader);
            }
            let left = record.holders.iter().map(|ticket| ticket.left).max();
            let limits = waiting.client.core().limits;
            let look = looks_at(left, was_told, clock::now(), limits);
            let told = waiting.is_told(look).await;
            // After an error, too, the next call needs a new place.
            if !matches!(told, Ok(false)) {
                self.waiting = None;
            }
            was_told = told?;
        }
    }

    /// Like [`changed`](Self::changed), but blocks the thread. The errors are the same.
    pub fn blocking_changed(&mut self) -> Result<Option<LeaderInfo>, LockError> {
        block_on(self.changed())
    }
}

impl Waiting {
    fn register(handle: &Handle) -> Result<Self, LockError> {
        let caller = Caller::current(false);
        let mut target = handle.resolve(&caller)?;
        target.name = Cow::Owned(target.name.beside(WATCHERS));
        let patience = Patience::Queue(None);
        Ok(Self {
            signal: target.await_signal(&caller, Share::WATCH, patience)?,
            client: target.client.into_owned(),
            name: target.name.into_owned(),
            registered: false,
        })
    }

    /// Waits for the signal until `look`. Returns whether it is used up.
    async fn is_told(&mut self, look: Instant) -> Result<bool, LockError> {
        let signal = async {
            match (&mut self.signal).await {
                Ok(signal) => drop(Holding::new(signal).leave()),
                // The store forgot this waiter, or can't be reached: the next look tells.
                Err(LockError::Unavailable { .. }) => {}
                Err(error) => return Err(error),
            }
            Ok(true)
        };
        let timer = async {
            self.client
                .core()
                .sleep_until(look, &self.name)
                .await
                .map(|()| false)
        };
        first(signal, timer).await
    }
}

impl std::fmt::Debug for Waiting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Waiting")
    }
}

/// Tells the watchers of `seat` that a term has begun or ended. Not awaited: it is sent again until the store answers.
/// A closed client tells nobody.
pub(super) fn announce(core: &Arc<ClientCore>, seat: &Name) {
    let (ticket, signal) = (Ticket::random(), Signal::All);
    let op = Op::Signal { ticket, signal };
    let _ = core.with_queue(&seat.beside(WATCHERS), |local| local.query(&op));
}
