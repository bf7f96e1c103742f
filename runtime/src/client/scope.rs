//! The client in force on this thread while a scoped future is polled or a scoped closure runs.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use super::Client;

thread_local! {
    static STACK: RefCell<Vec<Client>> = const { RefCell::new(Vec::new()) };
}

/// Keeps a client in force until this value is dropped. Such values are dropped in reverse order of creation.
#[must_use]
pub(super) struct Entered(std::marker::PhantomData<*const ()>);

pub(super) fn enter(client: Client) -> Entered {
    STACK.with_borrow_mut(|stack| stack.push(client));
    Entered(std::marker::PhantomData)
}

#[inline]
pub(super) fn current() -> Option<Client> {
    STACK
        .try_with(|stack| stack.borrow().last().cloned())
        .ok()?
}

impl Drop for Entered {
    fn drop(&mut self) {
        // The client is dropped after the borrow of `STACK` has ended, so that the clean-up of a last clone does not run
        // during the borrow.
        let client = STACK.try_with(|stack| stack.borrow_mut().pop());
        drop(client);
    }
}

pin_project! {
    /// See [`Client::scope`].
    #[must_use = "futures do nothing unless polled"]
    pub(super) struct Scoped<F> {
        client: Client,
        #[pin]
        future: F,
    }
}

impl<F> Scoped<F> {
    pub(super) fn new(client: Client, future: F) -> Self {
        Self { client, future }
    }
}

impl<F: Future> Future for Scoped<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let _entered = enter(this.client.clone());
        this.future.poll(cx)
    }
}
