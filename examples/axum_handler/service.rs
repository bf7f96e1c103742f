//! A web service for Kubernetes: it can start while Redis is down, answers probes, and stops cleanly.
//!
//! - `/healthz`, for the liveness probe: the process answers. The probe does not ask Redis, because a restart would not help.
//! - `/readyz`, for the readiness probe: the locks can be taken.
//! - SIGTERM: the service accepts no new requests and takes no new locks. Running requests have 20 s to end; then their locks
//!   are released.
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

/// Less than `terminationGracePeriodSeconds`, which is 30 s by default.
const GRACE: Duration = Duration::from_secs(20);

/// The response of a handler that cannot get the lock.
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
            // Redis is down, or this process stops: another process can serve the request.
            _ => StatusCode::SERVICE_UNAVAILABLE,
        };
        eprintln!("refused: {}", self.0);
        (status, self.0.public_message()).into_response()
    }
}

/// The work: one call at a time for each month, on all machines. The call takes `millis` milliseconds.
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
        // The text is for people who look at the probe: it says what is wrong, and since when.
        Ok(health) => (StatusCode::SERVICE_UNAVAILABLE, health.to_string()),
        Err(error) => (StatusCode::SERVICE_UNAVAILABLE, error.to_string()),
    }
    .into_response()
}

/// Returns a future that is ready when SIGTERM has come. After this call, SIGTERM does not kill the process.
fn terminated() -> Result<impl Future<Output = ()>, std::io::Error> {
    let mut signals = signal(SignalKind::terminate())?;
    Ok(async move {
        signals.recv().await;
    })
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    auto_mutex::setup_async(store("service")?.connect_lazily(true)).await?;

    // At the signal the locks begin to drain: requests that hold their locks may end, others are answered with 503.
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
    // Returns when the last request is answered. After GRACE no request holds a lock, because a body that loses its lock is
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
