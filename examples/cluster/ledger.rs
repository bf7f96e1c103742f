//! The annotated method. A program needs only this; everything else in this folder is the show around it.

use std::time::Duration;

use auto_mutex::{LockError, auto_mutex};
use tokio::time::sleep;

use crate::Failure;
use crate::event::What;
use crate::witness::Witness;
use crate::worker::{Orders, Reporter};

/// The ledger, whose day must be closed by one worker at a time.
pub(crate) struct Ledger {
    pub(crate) worker: usize,
    pub(crate) witness: Witness,
    pub(crate) reporter: Reporter,
    pub(crate) orders: Orders,
    /// The longest time that a body may hold the lock, even if its worker dies.
    pub(crate) expire: Duration,
}

impl Ledger {
    #[auto_mutex(expire = self.expire, guard = lock)]
    pub(crate) async fn close_day(&self, work: Duration) -> Result<(), Failure> {
        self.work(lock.fencing_token(), work).await
    }

    /// The same method without a lock, for comparison.
    pub(crate) async fn close_day_unprotected(&self, work: Duration) -> Result<(), Failure> {
        self.work(0, work).await
    }

    async fn work(&self, token: u64, work: Duration) -> Result<(), Failure> {
        let presence = self.witness.enter(self.worker)?;
        self.reporter.tell(What::Enters { token });
        for other in self.witness.others(self.worker)? {
            self.reporter.tell(What::Meets { other });
        }
        if self.orders.stay() {
            self.reporter.tell(What::Stays);
            std::future::pending::<()>().await;
        }
        sleep(work).await;
        self.reporter.tell(What::Leaves);
        drop(presence);
        Ok(())
    }
}

/// Describes a failure of the method: a failed lock, or a failure of the body.
pub(crate) fn describe(failure: &Failure) -> String {
    match failure.downcast_ref::<LockError>() {
        Some(error) => format!("lock: {error}"),
        None => failure.to_string(),
    }
}
