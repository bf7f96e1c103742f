//! [`poll_budget`]: keeps a task that never waits from starving the other tasks of its runtime.

use std::task::{Context, Poll};

use tokio::task::coop::poll_proceed;

use super::aside::is_of_tokio;

/// Pending if the running tokio task has used up its [budget](tokio::task::coop), so that the task yields. To be asked
/// before a call requests a lock: a task that yields must not keep a lock that it does not use yet.
///
/// Only tasks that wait with a waker of tokio have a budget. Another executor may block this thread until it is woken,
/// and tokio wakes it only after the task has yielded.
#[inline]
pub(crate) fn poll_budget(cx: &mut Context<'_>) -> Poll<()> {
    match is_of_tokio(cx.waker()) {
        true => poll_proceed(cx).map(|budget| budget.made_progress()),
        false => Poll::Ready(()),
    }
}
