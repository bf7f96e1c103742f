//! [`ScopeLayer`], and the service and the future that it makes.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;
use tower_layer::Layer;
use tower_service::Service;

use crate::caller::Scoped;
use crate::locks::client::Client;

/// Runs each request in [`Client::scope`]: handlers lock with this client, whichever task polls them.
///
/// A server that uses the global client doesn't need this layer. It is for a client that isn't global: one for each
/// tenant or store, or one for each test, so that tests can run side by side.
///
/// Pass it to `Router::layer` of axum, or to `Server::layer` of tonic. It doesn't box the futures of the service, and
/// works with any request and response. A task that a handler spawns isn't part of the request; give it the same client
/// with `tokio::spawn(auto_mutex::client()?.scope(task))`.
///
/// ```
/// use auto_mutex::tower::ScopeLayer;
/// use auto_mutex::{Client, LockError, auto_mutex};
/// use tower::{ServiceBuilder, ServiceExt as _};
///
/// #[auto_mutex(key = month)]
/// async fn close(month: u32) -> Result<String, LockError> {
///     Ok(format!("month {month} is closed"))
/// }
///
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// let client = Client::connect("memory://")?; // no `setup`: there is no global client
/// let service = ServiceBuilder::new()
///     .layer(ScopeLayer::new(client))
///     .service_fn(close);
///
/// assert_eq!(service.oneshot(5).await?, "month 5 is closed");
/// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ScopeLayer {
    client: Client,
}

impl ScopeLayer {
    /// Returns a layer whose services use `client`.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self { client }
    }
}

impl<S> Layer<S> for ScopeLayer {
    type Service = Scope<S>;

    fn layer(&self, inner: S) -> Scope<S> {
        Scope {
            client: self.client.clone(),
            inner,
        }
    }
}

/// A service that runs in the scope of a client: see [`ScopeLayer`].
#[derive(Clone, Debug)]
pub struct Scope<S> {
    client: Client,
    inner: S,
}

impl<S: Service<R>, R> Service<R> for Scope<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = ScopeFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        let inner = &mut self.inner;
        self.client.blocking_scope(|| inner.poll_ready(cx))
    }

    fn call(&mut self, request: R) -> Self::Future {
        let inner = &mut self.inner;
        let future = self.client.blocking_scope(|| inner.call(request));
        ScopeFuture {
            scoped: self.client.scoped(future),
        }
    }
}

pin_project! {
    /// The future of a request: see [`ScopeLayer`].
    #[must_use = "futures do nothing unless polled"]
    pub struct ScopeFuture<F> {
        #[pin]
        scoped: Scoped<F>,
    }
}

impl<F: Future> Future for ScopeFuture<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        self.project().scoped.poll(cx)
    }
}

impl<F> std::fmt::Debug for ScopeFuture<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ScopeFuture").finish_non_exhaustive()
    }
}
