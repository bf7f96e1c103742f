//! [`Acquire`]: waits for a lock, as a future that leaves the queue when dropped, or on a blocked thread.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use super::Member;
use super::hold::Hold;
use super::lock_queue::LockQueue;
use super::ticket::Unlocked;
use super::waiter::{Waiter, Want};
use crate::clock::Instant;
use crate::error::LockError;
use crate::name::Name;
use crate::queue::{Watch, warn_of_timeout};
use crate::task::BlockedWorker;
use crate::wait::block_on;

/// How many missed grants a call tolerates. A grant is missed if it has ended before the call's task or thread runs.
const MISSES: u32 = 5;

/// A wait for a lock. If it is dropped before the caller has the lock, the waiter leaves the queue, or the grant is
/// released.
///
/// A grant may have ended before the task of the call is polled or its thread wakes. The call then ignores that grant,
/// and continues to wait for the rest of its `block`.
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub(crate) struct Acquire {
    stage: Stage,
    /// How many more grants the call may miss.
    misses: u32,
    /// Reports the call to the subscriber and the observer. `None` for a part of another call, or if neither wants
    /// reports.
    watch: Option<Box<Watch>>,
    /// Whether this is a call of the program, not a part of another call. Only the timeouts of such calls are logged.
    is_call: bool,
    /// Counts the call's thread as blocked, if it is a worker of a runtime.
    blocked: Option<BlockedWorker>,
}

/// The progress of the call.
#[derive(Debug)]
enum Stage {
    Waiting(Arc<LockQueue>, Arc<Waiter>),
    Obtained(Arc<Hold>),
    Over,
}

impl Acquire {
    pub(super) fn new(queue: Arc<LockQueue>, waiter: Arc<Waiter>) -> Self {
        Self::at(Stage::Waiting(queue, waiter))
    }

    /// Enters the queue of `name`. While the client drains, only a nested call may wait. Whether a caller has taken
    /// another lock by hand is looked up only if the queue refuses the call, because this look-up visits each name.
    pub(crate) fn enter(
        member: &Arc<Member>,
        name: &Name,
        want: &mut Want,
    ) -> Result<Self, LockError> {
        let blocked = want.by.blocking.then(BlockedWorker::enter).flatten();
        want.by.blocks = blocked.as_ref().map(BlockedWorker::runtime);
        let mut entered = member.with_queue(name, |queue| queue.enter(want))?;
        let is_nested = || want.by.is_nested(|task| member.has_taken(task));
        if matches!(entered, Err(LockError::ShutDown)) && member.is_draining() && is_nested() {
            want.by.inside = true;
            entered = member.with_queue(name, |queue| queue.enter(want))?;
        }
        let mut call = entered?;
        call.blocked = blocked;
        Ok(call)
    }

    /// Marks `entered` as a call of the program, not a part of another call. `watch` counts the call as waiting from
    /// now on, unless the lock was granted at once or the call has failed.
    #[inline]
    pub(crate) fn call(
        entered: Result<Self, LockError>,
        mut watch: Option<Box<Watch>>,
    ) -> Result<Self, LockError> {
        let entered = entered.inspect_err(|error| {
            if let Some(watch) = &mut watch {
                watch.failed(error);
            }
        });
        let mut call = entered?;
        if let Some(watch) = &mut watch
            && matches!(call.stage, Stage::Waiting(..))
        {
            watch.waits();
        }
        call.watch = watch;
        call.is_call = true;
        Ok(call)
    }

    /// A call whose lock was granted at once.
    #[inline]
    pub(super) fn obtained(hold: Arc<Hold>) -> Self {
        Self::at(Stage::Obtained(hold))
    }

    #[inline]
    fn at(stage: Stage) -> Self {
        Self {
            stage,
            misses: MISSES,
            watch: None,
            is_call: false,
            blocked: None,
        }
    }

    /// If the lock was granted while the caller entered the queue, takes the grant now, so the caller cannot miss it.
    /// Otherwise makes the wait known to searches for deadlocks.
    pub(super) fn look(mut self) -> Self {
        let Stage::Waiting(queue, waiter) = &self.stage else {
            return self;
        };
        if !waiter.want.relies
            && let Some(Ok(hold)) = waiter.promise.take_if(Result::is_ok)
        {
            self.stage = Stage::Obtained(hold);
        } else {
            queue.note_nested(waiter);
        }
        self
    }

    /// Makes the first missed grant fail the call.
    pub(super) fn once(mut self) -> Self {
        self.misses = 0;
        self
    }

    /// Completes when the store has queued the waiter, or when the waiter no longer needs a place.
    pub(crate) async fn registered(&self) {
        if let Stage::Waiting(_, waiter) = &self.stage {
            waiter.registered.wait().await;
        }
    }

    /// Gives up the call, as a drop does. If a ticket must be released, returns a promise that completes when the store
    /// has released the ticket.
    pub(crate) fn give_back(mut self) -> Option<Unlocked> {
        match self.leave() {
            Stage::Waiting(queue, waiter) => queue.give_up(&waiter, true),
            Stage::Obtained(hold) if hold.unshare() => {
                Some(hold.local().give_back_confirmed(&hold))
            }
            Stage::Obtained(_) | Stage::Over => None,
        }
    }

    /// Blocks the current thread until the lock is obtained or the call fails.
    #[inline]
    pub(crate) fn blocking(mut self) -> Result<Arc<Hold>, LockError> {
        let Some(mut watch) = self.watch.take() else {
            // If the lock was granted at once, no future is needed.
            return match self.leave() {
                Stage::Obtained(hold) => Ok(hold),
                stage => {
                    self.stage = stage;
                    block_on(self)
                }
            };
        };
        // The span stays entered while the thread sleeps.
        let result = {
            let _entered = watch.enter();
            block_on(self)
        };
        watch.done(&result);
        result
    }

    /// Polls until the lock is obtained, the call fails, or the wait is pending. A missed grant starts a new wait.
    fn advance(&mut self, cx: &mut Context<'_>) -> Poll<Result<Arc<Hold>, LockError>> {
        loop {
            let result = match &self.stage {
                Stage::Waiting(_, waiter) => ready!(waiter.promise.poll(cx)),
                Stage::Obtained(hold) => Ok(hold.clone()),
                Stage::Over => return Poll::Pending,
            };
            let stage = self.leave();
            let hold = result.inspect_err(|error| {
                if let Stage::Waiting(queue, waiter) = &stage {
                    self.tell(queue, waiter, error);
                }
            })?;
            match stage {
                Stage::Waiting(queue, waiter) if !waiter.want.relies && !hold.is_valid() => {
                    self.missed(&queue, &waiter, &hold)?;
                }
                Stage::Waiting(..) | Stage::Obtained(_) | Stage::Over => {
                    return Poll::Ready(Ok(hold));
                }
            }
        }
    }

    /// Logs the `error` of the call of `waiter`, if it is a timeout.
    fn tell(&self, queue: &LockQueue, waiter: &Waiter, error: &LockError) {
        if self.is_call && error.is_timeout() && waiter.want.patience.waits() {
            warn_of_timeout(queue.member(), &waiter.want.meta, error);
        }
    }

    /// Handles a missed grant: `hold` ended before the caller ran. Releases the hold and enters the queue again.
    #[cold]
    fn missed(
        &mut self,
        queue: &LockQueue,
        waiter: &Waiter,
        hold: &Arc<Hold>,
    ) -> Result<(), LockError> {
        let lost = hold.lost_error();
        if hold.unshare() {
            hold.local().give_back(hold);
        }
        self.misses = self.misses.checked_sub(1).ok_or(lost)?;
        let mut want = waiter.again(hold.grant().attempts, Instant::now());
        let mut next = Self::enter(queue.member(), queue.name(), &mut want)?;
        self.stage = next.leave();
        Ok(())
    }

    fn leave(&mut self) -> Stage {
        std::mem::replace(&mut self.stage, Stage::Over)
    }
}

impl Future for Acquire {
    type Output = Result<Arc<Hold>, LockError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let Some(mut watch) = this.watch.take() else {
            return this.advance(cx);
        };
        let polled = {
            let _entered = watch.enter();
            this.advance(cx)
        };
        match &polled {
            Poll::Pending => this.watch = Some(watch),
            Poll::Ready(result) => watch.done(result),
        }
        polled
    }
}

impl Drop for Acquire {
    #[inline]
    fn drop(&mut self) {
        match self.leave() {
            Stage::Waiting(queue, waiter) => drop(queue.give_up(&waiter, false)),
            Stage::Obtained(hold) if hold.unshare() => hold.local().give_back(&hold),
            Stage::Obtained(_) | Stage::Over => {}
        }
    }
}
