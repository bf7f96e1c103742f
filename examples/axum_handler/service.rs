//! A web service as it runs in Kubernetes: it starts while Redis is away, answers probes, and ends in good order.
//!
//! - `/healthz`, for the liveness probe: the process answers. It does not ask Redis: a restart would mend nothing.
//! - `/readyz`, for the readiness probe: the locks can be taken.
//! - SIGTERM: no new requests, no new locks; what runs may end, for 20 s; then the locks are released.
//!
//! `AUTO_MUTEX_URL=redis://127.0.0.1:6379 cargo run --example axum_service`

use std::error::Error;
use std::future::Future;
use std::time::Duration;

use auto_mutex::{LockError, auto_mutex};
use auto_mutex_examples::store;
use axum::Router;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::sleep;

/// Less than `terminationGracePeriodSeconds`, which is 30 s unless the pod says otherwise.
const GRACE: Duration = Duration::from_secs(20);

/// What a handler answers when it cannot have the lock.
struct Refusal(LockError);

impl From<LockError> for Refusal {
    fn from(error: LockError) -> Self {
        Self(error)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let status = match &self.0 {
            error if error.is_timeout() => StatusCode::CONFLICT,
            // Redis is away, or this process ends: another one can serve the request.
            _ => StatusCode::SERVICE_UNAVAILABLE,
        };
        (status, self.0.to_string()).into_response()
    }
}

/// The work: one at a time for each month, on all machines. It takes so many milliseconds.
#[auto_mutex(expire = 60, block = 5, key = month)]
async fn close(Path((month, millis)): Path<(u32, u64)>) -> Result<String, Refusal> {
    println!("closing month {month}");
    sleep(Duration::from_millis(millis)).await;
    Ok(format!("month {month} is closed"))
}

async fn healthz() -> &'static str {
    "alive"
}

async fn readyz() -> Response {
    match auto_mutex::health() {
        Ok(health) if health.is_ready() => (StatusCode::OK, health.to_string()),
        // For the people who look at the probe: what is wrong, and since when.
        Ok(health) => (StatusCode::SERVICE_UNAVAILABLE, health.to_string()),
        Err(error) => (StatusCode::SERVICE_UNAVAILABLE, error.to_string()),
    }
    .into_response()
}

/// Returns a future that is ready when SIGTERM has come. From the call on, SIGTERM does not kill.
fn terminated() -> Result<impl Future<Output = ()>, std::io::Error> {
    let mut signals = signal(SignalKind::terminate())?;
    Ok(async move {
        signals.recv().await;
    })
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    auto_mutex::setup_async(store("service")?.connect_lazily()).await?;

    // With the signal the locks begin to drain: requests that have theirs may end, others are told 503.
    let sigterm = terminated()?;
    let draining = tokio::spawn(async move {
        sigterm.await;
        auto_mutex::drain(GRACE).await
    });

    let app = Router::new()
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .route("/close/{month}/{millis}", get(close));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("listening on http://{}", listener.local_addr()?);
    // Returns when the last request is answered. After GRACE none holds a lock any more: a body that loses its lock is
    // cancelled.
    axum::serve(listener, app)
        .with_graceful_shutdown(terminated()?)
        .await?;

    let drained = draining.await??;
    println!("{drained}");
    if drained.is_complete() {
        Ok(())
    } else {
        Err("not everything could end in time".into())
    }
}
