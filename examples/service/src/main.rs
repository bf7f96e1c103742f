//! A web service as it is deployed: it can start while Redis is down, answers probes, exports metrics, and stops
//! cleanly.
//!
//! - `POST /close/{month}/{millis}`: the work, under a lock. No two processes close the same month at the same time.
//! - `/healthz`, for the liveness probe: the process answers. It doesn't depend on Redis, because a restart would not
//!   help.
//! - `/readyz`, for the readiness probe: the locks can be taken.
//! - `/metrics`, for Prometheus.
//! - SIGTERM or SIGINT: no new connections and no new locks. Running requests have 20 s; then their locks are released.
//!
//! `AUTO_MUTEX_URL=redis://127.0.0.1:6379 cargo run -p auto-mutex-example-service`
//!
//! The folder also has a Dockerfile, a compose file with Valkey, Prometheus and Grafana, and manifests for Kubernetes.

use std::env;
use std::error::Error;
use std::future::Future;
use std::io;
use std::time::Duration;

use auto_mutex::{Config, LockError, Metric, MetricsObserver, auto_mutex};
use axum::Router;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;
use tokio::time::{interval, sleep, timeout};

/// How long requests that hold a lock may go on after the signal.
const DRAIN: Duration = Duration::from_secs(20);
/// How long the last responses may take after that.
const RESPONSES: Duration = Duration::from_secs(2);

/// The response of a handler that cannot get its lock, or has lost it.
struct Refusal(LockError);

impl From<LockError> for Refusal {
    fn from(error: LockError) -> Self {
        Self(error)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        // The error names hosts, addresses and files: they are for the log, not for clients.
        tracing::warn!(error = &self.0 as &dyn Error, "a request was refused");
        let status = if self.0.is_timeout() {
            StatusCode::CONFLICT
        } else {
            // Redis is down, or this process stops: another process can serve the request.
            StatusCode::SERVICE_UNAVAILABLE
        };
        (status, self.0.public_message()).into_response()
    }
}

/// The work: one call at a time for each month, on all machines. The call takes `millis` milliseconds.
#[auto_mutex(expire = 60, block = 5, key = month)]
async fn close(Path((month, millis)): Path<(u32, u64)>) -> Result<String, Refusal> {
    tracing::info!(month, "closing");
    sleep(Duration::from_millis(millis)).await;
    tracing::info!(month, "closed");
    Ok(format!("month {month} is closed"))
}

async fn healthz() -> &'static str {
    "alive"
}

async fn readyz() -> Response {
    let (status, text) = match auto_mutex::health() {
        Ok(health) if health.is_ready() => return "ready".into_response(),
        Ok(health) => (StatusCode::SERVICE_UNAVAILABLE, health.to_string()),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
    };
    tracing::warn!("not ready: {text}");
    (status, "not ready").into_response()
}

/// Returns a future that is ready when SIGTERM or SIGINT has come. From this call on, neither ends the process by
/// itself.
fn stopped() -> io::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

fn metrics() -> Result<PrometheusHandle, Box<dyn Error>> {
    let recorder = PrometheusBuilder::new()
        .with_recommended_naming(true)
        .set_buckets(Metric::BUCKETS)?
        .install_recorder()?;
    let upkeep = recorder.clone();
    tokio::spawn(async move {
        let mut ticks = interval(Duration::from_secs(5));
        loop {
            ticks.tick().await;
            upkeep.run_upkeep();
        }
    });
    Ok(recorder)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    tracing_subscriber::fmt().with_ansi(false).init();
    // First of all: process 1 of a container ignores a signal for which nobody has asked.
    let stopped = stopped()?;
    let metrics = metrics()?;
    let config = Config::from_env()?.observer(MetricsObserver::new());
    auto_mutex::setup_async(config.connect_lazily(true)).await?;

    let app = Router::new()
        .route("/close/{month}/{millis}", post(close))
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .route("/metrics", get(async move || metrics.render()));
    let address = env::var("LISTEN").unwrap_or_else(|_| "0.0.0.0:8080".to_owned());
    let listener = TcpListener::bind(address).await?;
    tracing::info!("listening on http://{}", listener.local_addr()?);
    let (stop, stopping) = oneshot::channel::<()>();
    let server = axum::serve(listener, app).with_graceful_shutdown(async {
        let _ = stopping.await;
    });
    let server = tokio::spawn(server.into_future());

    // Requests that hold their locks may end; others are answered with 503, and can be sent to another process.
    stopped.await;
    drop(stop);
    let drained = auto_mutex::drain(DRAIN).await?;
    tracing::info!("{drained}");
    // No request holds a lock any more: a body that loses its lock is cancelled.
    let answered = timeout(RESPONSES, server).await;
    if !drained.is_complete() || answered.is_err() {
        return Err("not everything could end in time".into());
    }
    Ok(())
}
