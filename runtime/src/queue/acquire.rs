//! [`Acquire`]: waits for a lock, as a future that leaves the queue when dropped, or on a blocked thread.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use super::hold::Hold;
use super::lock_queue::LockQueue;
use super::ticket::Unlocked;
use super::waiter::Waiter;
use crate::clock::Instant;
use crate::error::LockError;
use crate::observe::{Watch, warn_of_timeout};

/// How many grants in a row may end before the call sees them.
const MISSES: u32 = 5;

/// Waits for a lock. If it is dropped before its caller has the lock, it leaves the queue, or releases what it was
/// granted.
///
/// A grant may have ended when its task is polled or its thread wakes. The call then ignores that grant, and continues
/// to wait for the rest of its `block`.
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub(crate) struct Acquire {
    stage: Stage,
    /// How many more grants it may miss.
    misses: u32,
    /// Reports the call, if it is a call of its own and anybody wants reports.
    watch: Option<Box<Watch>>,
    /// Whether this is a call of its own, so that its timeout is logged.
    is_call: bool,
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
        Self {
            stage: Stage::Waiting(queue, waiter),
            misses: MISSES,
            watch: None,
            is_call: false,
        }
    }

    /// Makes `entered` a call of its own, which is not a part of another call. From now on it counts as waiting, unless
    /// it was granted at once or has failed.
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

    /// Already granted.
    #[inline]
    pub(super) fn obtained(hold: Arc<Hold>) -> Self {
        Self {
            stage: Stage::Obtained(hold),
            misses: MISSES,
            watch: None,
            is_call: false,
        }
    }

    /// For a grant that came while the caller entered the queue. The caller sees this grant at once, so it cannot miss
    /// the grant.
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

    /// Forbids another try after a missed grant.
    pub(super) fn once(mut self) -> Self {
        self.misses = 0;
        self
    }

    /// Completes when the store has queued the waiter, or when the waiter needs no place any more.
    pub(crate) async fn registered(&self) {
        if let Stage::Waiting(_, waiter) = &self.stage {
            waiter.registered.wait().await;
        }
    }

    /// Gives up like a drop. If a ticket must be released, returns a promise that completes when the store has released
    /// it.
    pub(crate) fn give_back(mut self) -> Option<Unlocked> {
        match self.leave() {
            Stage::Waiting(queue, waiter) => queue.give_up_confirmed(&waiter),
            Stage::Obtained(hold) if hold.unshare() => {
                Some(hold.local().give_back_confirmed(&hold))
            }
            Stage::Obtained(_) | Stage::Over => None,
        }
    }

    /// Blocks the thread instead of the task.
    #[inline]
    pub(crate) fn blocking(mut self) -> Result<Arc<Hold>, LockError> {
        let Some(mut watch) = self.watch.take() else {
            return self.block();
        };
        let result = {
            let _entered = watch.enter();
            self.block()
        };
        watch.done(&result);
        result
    }

    fn block(&mut self) -> Result<Arc<Hold>, LockError> {
        loop {
            let (queue, waiter) = match self.leave() {
                Stage::Waiting(queue, waiter) => (queue, waiter),
                Stage::Obtained(hold) => return Ok(hold),
                Stage::Over => return Err(LockError::ShutDown),
            };
            let hold = waiter.blocking_wait();
            let hold = hold.inspect_err(|error| self.tell(&queue, &waiter, error))?;
            if waiter.want.relies || hold.is_valid() {
                return Ok(hold);
            }
            self.missed(&queue, &waiter, &hold)?;
        }
    }

    /// Polls the stages one after another.
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

    /// Logs that the call of `waiter` gave up.
    fn tell(&self, queue: &LockQueue, waiter: &Waiter, error: &LockError) {
        if self.is_call && error.is_timeout() && waiter.want.patience.waits() {
            warn_of_timeout(queue.member(), &waiter.want.meta, error);
        }
    }

    /// `hold` had ended when the caller looked.
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
        let want = waiter.again(hold.grant().attempts, Instant::now());
        let member = queue.member();
        let mut next = member.with_queue(queue.name(), |queue| queue.enter(&want))??;
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
            Stage::Waiting(queue, waiter) => queue.give_up(&waiter),
            Stage::Obtained(hold) if hold.unshare() => hold.local().give_back(&hold),
            Stage::Obtained(_) | Stage::Over => {}
        }
    }
}
