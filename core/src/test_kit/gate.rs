//! [`Gate`]: a task of a host. It stands still while the host is suspended, ends when the host is killed, and otherwise
//! runs in an order that is left to chance.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::task::JoinHandle;

use super::member::Member;

/// How often a task lets the others go first, at most.
const LETS_OTHERS_GO: u64 = 3;

pub(super) struct Gate<F> {
    member: Arc<Member>,
    task: u64,
    turns: Option<u64>,
    inner: Option<Pin<Box<F>>>,
}

impl<F: Future + Send + 'static> Gate<F>
where
    F::Output: Send,
{
    /// Starts a task of the host. Its output is `None` if the host was killed.
    pub(super) fn spawn(member: &Arc<Member>, inner: F) -> JoinHandle<Option<F::Output>> {
        let task = member.world().map_or(0, |world| world.number());
        tokio::spawn(Self {
            member: member.clone(),
            task,
            turns: None,
            inner: Some(Box::pin(inner)),
        })
    }
}

impl<F: Future> Future for Gate<F> {
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let (member, task) = (this.member.clone(), this.task);
        let over = |output| {
            member.note_task(task, None);
            Poll::Ready(output)
        };
        member.note_task(task, Some(cx.waker()));
        if member.is_dead() {
            this.inner = None;
            return over(None);
        }
        let Some(inner) = this.inner.as_mut().filter(|_| member.runs()) else {
            return Poll::Pending;
        };
        if let Some(world) = member.world() {
            let turns = this
                .turns
                .unwrap_or_else(|| world.below(1 + LETS_OTHERS_GO));
            if turns > 0 {
                this.turns = Some(turns - 1);
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            this.turns = None;
            world.note_activity();
        }
        let polled = inner.as_mut().poll(cx);
        match polled {
            Poll::Ready(output) => {
                this.inner = None;
                over(Some(output))
            }
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<F> Drop for Gate<F> {
    fn drop(&mut self) {
        self.member.note_task(self.task, None);
    }
}

/// The work of a host in a [`World`](super::World), as a future of its output.
///
/// It goes on if this future is dropped. A panic of the work is passed on. Panics if the host was killed.
#[must_use = "await it for the output"]
#[derive(Debug)]
pub struct Running<T>(pub(super) JoinHandle<Option<T>>);

impl<T> Running<T> {
    /// Whether the work has ended, or the host was killed.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.0.is_finished()
    }

    /// The output, or `None` if the host was killed.
    pub async fn outcome(self) -> Option<T> {
        match self.0.await {
            Ok(output) => output,
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(_) => None,
        }
    }
}

impl<T> Future for Running<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        match std::task::ready!(Pin::new(&mut self.0).poll(cx)) {
            Ok(Some(output)) => Poll::Ready(output),
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            _ => {
                panic!("the host was killed, so its work has no output; await `outcome()` instead")
            }
        }
    }
}
