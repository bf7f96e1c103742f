use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use super::frames::enter_scope;
use crate::queue::OpenClient;

pin_project! {
    #[must_use = "futures do nothing unless polled"]
    pub(crate) struct Scoped<F> {
        client: Arc<OpenClient>,
        // `None` only during the drop.
        #[pin]
        future: Option<F>,
    }

    impl<F> PinnedDrop for Scoped<F> {
        fn drop(this: Pin<&mut Self>) {
            let mut this = this.project();
            let _entered = enter_scope(this.client.clone());
            this.future.set(None);
        }
    }
}

pub(crate) fn scope<F>(client: Arc<OpenClient>, future: F) -> Scoped<F> {
    Scoped {
        client,
        future: Some(future),
    }
}

pub(crate) fn blocking_scope<T>(client: Arc<OpenClient>, run: impl FnOnce() -> T) -> T {
    let _entered = enter_scope(client);
    run()
}

impl<F: Future> Future for Scoped<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let Some(future) = this.future.as_pin_mut() else {
            return Poll::Pending;
        };
        let _entered = enter_scope(this.client.clone());
        future.poll(cx)
    }
}
