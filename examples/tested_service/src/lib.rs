//! The invoices of a shop, on several nodes. `tests/billing.rs` tests what happens to a node that loses a lock, gets it
//! late, or has to stop.

#![forbid(unsafe_code)]

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use auto_mutex::{Drained, LockError, Term, auto_leader, auto_mutex};
use tokio::time::{MissedTickBehavior, interval, sleep};

/// Where the invoices are: a database that refuses a write whose token is older than that of another, as
/// `auto-mutex-fence` makes it do.
pub trait Books: Send + Sync {
    /// How many invoices of the month are booked.
    fn booked(&self, month: u32) -> u32;

    /// Books one of them.
    ///
    /// # Errors
    ///
    /// A later holder of the lock has written.
    fn book(&self, token: u64, month: u32, invoice: u32) -> Result<(), Refused>;

    /// Copies the month to the archive, which takes a while, and marks it as archived.
    ///
    /// # Errors
    ///
    /// A later holder of the lock has written.
    fn archive(&self, token: u64, month: u32) -> Result<(), Refused>;

    /// Reminds all customers of what they owe.
    ///
    /// # Errors
    ///
    /// A later leader has reminded them.
    fn remind(&self, token: u64) -> Result<(), Refused>;
}

/// A write came too late.
#[derive(Debug)]
pub struct Refused;

/// Why something was not done.
#[derive(Debug)]
pub enum Error {
    /// The lock was not obtained, or lost.
    Lock(LockError),
    /// The books have refused a write.
    Refused,
}

impl From<LockError> for Error {
    fn from(error: LockError) -> Self {
        Self::Lock(error)
    }
}

impl From<Refused> for Error {
    fn from(_: Refused) -> Self {
        Self::Refused
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lock(error) => error.fmt(f),
            Self::Refused => f.write_str("another node has written since"),
        }
    }
}

impl std::error::Error for Error {}

/// What became of a request.
#[derive(Debug, PartialEq, Eq)]
pub enum Sent {
    /// The invoices of the month were sent.
    Now,
    /// Somebody else is still sending them: try again in a minute.
    Later,
}

/// The service on one node.
#[derive(Clone)]
pub struct Billing {
    books: Arc<dyn Books>,
    invoices: u32,
}

impl Billing {
    /// A month has this many invoices.
    #[must_use]
    pub fn new(books: Arc<dyn Books>, invoices: u32) -> Self {
        Self { books, invoices }
    }

    /// Closes a month, a second for each invoice. Each node starts it; one does it, and the others skip it. After a
    /// loss, the next call goes on where this one ended.
    ///
    /// # Errors
    ///
    /// Those of the lock, and of the books.
    #[auto_mutex(key = "{month}", block = 0, on_timeout = skip, guard = lock)]
    pub async fn close(&self, month: u32) -> Result<(), Error> {
        for invoice in self.books.booked(month)..self.invoices {
            sleep(Duration::from_secs(1)).await;
            self.books.book(lock.fencing_token(), month, invoice)?;
        }
        Ok(())
    }

    /// Sends the invoices of a month, on request. Waits at most 5 s for another request of the same month.
    ///
    /// # Errors
    ///
    /// Those of the lock.
    #[auto_mutex(key = "{month}", block = 5, on_timeout = |_, _| Ok(Sent::Later))]
    pub async fn send(&self, month: u32) -> Result<Sent, Error> {
        sleep(Duration::from_secs(u64::from(self.books.booked(month)))).await;
        Ok(Sent::Now)
    }

    /// Archives a month. This is blocking code, which no loss of the lock can stop: its last write is refused.
    ///
    /// # Errors
    ///
    /// Those of the lock, and of the books.
    #[auto_mutex(key = "{month}", guard = lock)]
    pub fn archive(&self, month: u32) -> Result<(), Error> {
        Ok(self.books.archive(lock.fencing_token(), month)?)
    }

    /// Reminds the customers every day, on the node that leads.
    ///
    /// # Errors
    ///
    /// The node stops, or the books refuse a write.
    #[auto_leader(name = "reminders")]
    pub async fn remind(&self, term: &Term) -> Result<(), Error> {
        loop {
            self.books.remind(term.number())?;
            sleep(Duration::from_secs(24 * 3600)).await;
        }
    }

    /// Runs this node until `stopped`: reminds, and closes `month` every minute until it is closed. Then the work
    /// that holds a lock has 20 s to end.
    ///
    /// # Errors
    ///
    /// There is no client.
    pub async fn run(
        &self,
        month: u32,
        stopped: impl Future<Output = ()>,
    ) -> Result<Drained, LockError> {
        let client = auto_mutex::client()?;
        let stop = async {
            stopped.await;
            client.drain(Duration::from_secs(20)).await
        };
        let (_, (), drained) = tokio::join!(self.remind(), self.keep_closing(month), stop);
        drained
    }

    async fn keep_closing(&self, month: u32) {
        let mut minutes = interval(Duration::from_secs(60));
        minutes.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while self.books.booked(month) < self.invoices {
            minutes.tick().await;
            match self.close(month).await {
                Ok(()) => {}
                Err(Error::Lock(LockError::ShutDown)) => return,
                Err(error) => eprintln!("month {month} is not closed: {error}"),
            }
        }
    }
}
