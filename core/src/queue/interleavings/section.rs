//! What a thread does with a lock: it asks, waits or gives up, holds, and releases in one of several ways.

use std::future::Future;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use shuttle::rand::{Rng, thread_rng};
use shuttle::thread;

use super::process::Process;
use super::witness::Witness;
use crate::base::error::{LockError, LossCause};
use crate::base::wait::block_on;
use crate::locks::handle::Holding;
use crate::queue::tests::{somebody, wants};
use crate::queue::{Acquire, Hold, Want};
use crate::store::Share;

/// The kind of lock that the name has in this schedule.
#[derive(Clone, Copy)]
pub(super) enum Shape {
    Mutex,
    /// A mutex that some callers of the same owner share.
    Owned,
    Semaphore,
    ReadersWriter,
}

impl Shape {
    pub(super) fn any() -> Self {
        [
            Self::Mutex,
            Self::Mutex,
            Self::Owned,
            Self::Semaphore,
            Self::ReadersWriter,
        ][roll(5)]
    }

    pub(super) fn want(self) -> Want {
        match self {
            Self::Mutex => wants(Share::MUTEX),
            Self::Owned => {
                let mut want = wants(Share::MUTEX);
                want.owner = [None, Some("h"), Some("a")][roll(3)].map(Into::into);
                want
            }
            Self::Semaphore => wants(Share::permits(1 + roll(2) as u32, 2)),
            Self::ReadersWriter => wants([Share::READER, Share::WRITER][roll(2)]),
        }
    }
}

pub(super) fn roll(sides: usize) -> usize {
    thread_rng().gen_range(0..sides)
}

impl Process {
    pub(super) fn enter(&self, want: &Want) -> Result<Acquire, LockError> {
        self.member
            .with_queue(&self.name, |local| local.enter(want, &somebody()))?
    }

    /// Waits for the lock, holds it for a moment, and releases it.
    pub(super) fn section(&self, want: &Want, witness: &Witness) -> Result<(), LockError> {
        let hold = wait(self.enter(want)?)?;
        inside(&hold, witness);
        leave(hold);
        Ok(())
    }

    /// Like [`section`](Self::section), but the caller may give up.
    pub(super) fn section_or_not(&self, want: &Want, witness: &Witness) -> Result<(), LockError> {
        if let Some(hold) = wait_or_not(self.enter(want)?) {
            let hold = hold?;
            inside(&hold, witness);
            leave(hold);
        }
        Ok(())
    }
}

/// Waits for the lock, in a task or on the thread.
pub(super) fn wait(acquire: Acquire) -> Result<Arc<Hold>, LockError> {
    match roll(2) {
        0 => acquire.blocking(),
        _ => shuttle::future::block_on(acquire),
    }
}

/// Waits for the lock, or gives up at some point, in this thread or another.
fn wait_or_not(acquire: Acquire) -> Option<Result<Arc<Hold>, LockError>> {
    let mut acquire = Box::pin(acquire);
    for _ in 0..roll(4) {
        let mut cx = Context::from_waker(Waker::noop());
        if let Poll::Ready(result) = acquire.as_mut().poll(&mut cx) {
            return Some(result);
        }
        thread::yield_now();
    }
    if roll(2) == 0 {
        thread::spawn(move || drop(acquire)).join().unwrap();
    }
    None
}

/// Holds the lock for a moment.
pub(super) fn inside(hold: &Arc<Hold>, witness: &Witness) {
    witness.enters(hold);
    // Messages from the store reach the queue that is registered under the name, so it must be the queue of this hold.
    let member = &hold.queue.core;
    let found = member.with_queue(hold.name(), |local| Some(Arc::ptr_eq(local, &hold.queue)));
    assert!(
        !matches!(found, Ok(false)) || !hold.is_valid(),
        "it is found no more"
    );
    thread::yield_now();
    witness.leaves(hold);
}

/// Releases the lock in one of several ways.
pub(super) fn leave(hold: Arc<Hold>) {
    let mut holding = Holding::new(hold);
    match roll(3) {
        0 => drop(holding),
        1 => match block_on(holding.unlock()) {
            // The store never forgets here, but a shutdown or the end of the lease may have come first.
            Ok(_)
            | Err(LockError::Lost {
                cause: LossCause::NotRenewed | LossCause::Expired | LossCause::ShutDown,
                ..
            }) => {}
            Err(error) => panic!("{error:?}"),
        },
        // The future may be dropped before the store has answered.
        _ => drop(holding.leave()),
    }
}
