use std::future::poll_fn;
use std::task::{Context, Poll, ready};

use tokio::task::coop::{has_budget_remaining, poll_proceed};

use super::aside::is_of_tokio;

/// Poll this before a call requests a lock, because a yielding task must not keep a lock that it doesn't use yet.
#[derive(Debug, Default)]
pub struct Coop {
    has_yielded: bool,
}

impl Coop {
    /// Pending if the task has used up its tokio budget and has to yield.
    #[inline]
    pub fn poll_proceed(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if !is_of_tokio(cx.waker()) && !has_budget_remaining() {
            return self.yield_once(cx);
        }
        ready!(poll_proceed(cx)).made_progress();
        Poll::Ready(())
    }

    /// The waker belongs to a future inside the task. Tokio would call it only after the task has yielded, which never
    /// happens on an executor that blocks the thread. Such a call is therefore woken immediately, and does not yield
    /// twice.
    #[cold]
    fn yield_once(&mut self, cx: &Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.has_yielded, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

#[inline]
pub async fn proceed() {
    let mut coop = Coop::default();
    poll_fn(move |cx| coop.poll_proceed(cx)).await;
}
