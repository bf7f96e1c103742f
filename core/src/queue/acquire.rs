//! [`Acquire`] waits for a lock: as a future that leaves the queue when dropped, or by blocking its thread.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use super::ClientCore;
use super::hold::Hold;
use super::lock_queue::{Confirmed, LockQueue};
use super::waiter::{Requester, Waiter, Want};
use super::waits::TaskWait;
use crate::base::clock;
use crate::base::error::LockError;
use crate::base::name::Name;
use crate::base::task::BlockedWorker;
use crate::base::wait::block_on;
use crate::queue::{Watch, warn_of_timeout};

/// If it is dropped early, it leaves the queue, or releases a grant that has already come. A grant can end before the
/// task is polled or the thread wakes. The call has then missed it, and waits for the rest of its `block`.
#[must_use = "futures do nothing unless polled"]
pub(crate) struct Acquire {
    stage: Stage,
    /// `None` if this is a part of another call, or if neither a subscriber nor an observer wants reports.
    watch: Option<Box<Watch>>,
    /// `false` for a part of another call. Only timeouts of whole calls are logged.
    is_call: bool,
    blocked: Option<BlockedWorker>,
}

pub(super) enum Stage {
    /// The last field is set if the search for deadlocks knows about this wait.
    Waiting(Arc<LockQueue>, Arc<Waiter>, Option<Arc<TaskWait>>),
    Obtained(Arc<Hold>),
    Over,
}

impl Acquire {
    #[inline]
    pub(super) fn new(stage: Stage) -> Self {
        Self {
            stage,
            watch: None,
            is_call: false,
            blocked: None,
        }
    }

    /// While the client drains, only a nested call may wait. Looking for locks taken by hand visits every name, which
    /// is why it happens only after the queue has refused the call.
    pub(crate) fn enter(
        core: &Arc<ClientCore>,
        name: &Name,
        want: &Want,
        mut by: Requester,
    ) -> Result<Self, LockError> {
        let blocked = by.blocking.then(BlockedWorker::enter).flatten();
        by.blocks = blocked.as_ref().map(BlockedWorker::runtime);
        let mut entered = core.enter(name, want, &by)?;
        let is_nested = || by.is_nested(|task| core.has_taken(task));
        if matches!(entered, Err(LockError::ShutDown)) && core.is_draining() && is_nested() {
            by.inside = true;
            entered = core.enter(name, want, &by)?;
        }
        let mut call = entered?;
        call.blocked = blocked;
        Ok(call)
    }

    /// Marks `entered` as a whole call, which is logged and reported.
    #[inline]
    pub(crate) fn call(
        entered: Result<Self, LockError>,
        mut watch: Option<Box<Watch>>,
    ) -> Result<Self, LockError> {
        if let Some(watch) = &mut watch {
            match &entered {
                Err(error) => watch.failed(error),
                Ok(call) if matches!(call.stage, Stage::Waiting(..)) => watch.waits(),
                Ok(_) => {}
            }
        }
        let mut call = entered?;
        call.watch = watch;
        call.is_call = true;
        Ok(call)
    }

    /// Takes a grant that arrived while the caller entered the queue. The caller cannot miss such a grant.
    pub(super) fn look(mut self) -> Self {
        if let Stage::Waiting(queue, waiter, nested) = &mut self.stage {
            if !waiter.call.want.share.notifies()
                && let Some(Ok(hold)) = waiter.promise.take_if(Result::is_ok)
            {
                self.stage = Stage::Obtained(hold);
            } else {
                *nested = queue.note_nested(waiter);
            }
        }
        self
    }

    /// Resolves when the store has queued the waiter, or when the waiter no longer needs a place.
    pub(crate) async fn registered(&self) {
        if let Stage::Waiting(_, waiter, _) = &self.stage
            && let Some(registered) = &waiter.registered
        {
            registered.wait().await;
        }
    }

    /// Leaves the queue, as a drop does. The promise completes when the store has released the ticket, if there is one.
    pub(crate) fn give_back(mut self) -> Option<Confirmed> {
        self.end(true)
    }

    fn end(&mut self, confirmed: bool) -> Option<Confirmed> {
        match self.leave() {
            Stage::Waiting(queue, waiter, _) => queue.give_up(&waiter, confirmed),
            Stage::Obtained(hold) => hold.give_back(confirmed),
            Stage::Over => None,
        }
    }

    #[inline]
    pub(crate) fn blocking(mut self) -> Result<Arc<Hold>, LockError> {
        let Some(mut watch) = self.watch.take() else {
            return block_on(self);
        };
        // Keeps the span entered while the thread sleeps.
        let result = {
            let _entered = watch.enter();
            block_on(self)
        };
        watch.done(&result);
        result
    }

    /// Starts a new wait after a missed grant.
    fn advance(&mut self, cx: &mut Context<'_>) -> Poll<Result<Arc<Hold>, LockError>> {
        loop {
            let Stage::Waiting(_, waiter, _) = &self.stage else {
                return match self.leave() {
                    Stage::Obtained(hold) => Poll::Ready(Ok(hold)),
                    _ => Poll::Pending,
                };
            };
            let result = ready!(waiter.promise.poll(cx));
            let Stage::Waiting(queue, waiter, _) = self.leave() else {
                return Poll::Pending;
            };
            match result {
                Ok(hold) if !waiter.call.want.share.notifies() && !hold.is_valid() => {
                    self.missed(&queue, &waiter, &hold)?;
                }
                Err(error) => {
                    if self.is_call && error.is_timeout() && waiter.call.want.patience.waits() {
                        warn_of_timeout(&queue.core, &waiter.call.want.meta, &error);
                    }
                    return Poll::Ready(Err(*error));
                }
                Ok(hold) => return Poll::Ready(Ok(hold)),
            }
        }
    }

    #[cold]
    fn missed(
        &mut self,
        queue: &LockQueue,
        waiter: &Waiter,
        hold: &Arc<Hold>,
    ) -> Result<(), LockError> {
        let lost = hold.lost_error();
        hold.give_back(false);
        let want = waiter.call.again(hold.grant.attempts, clock::now());
        let mut next = Self::enter(
            &queue.core,
            &queue.name,
            &want.ok_or(lost)?,
            waiter.by.clone(),
        )?;
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
        self.end(false);
    }
}
