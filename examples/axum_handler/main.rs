//! axum: a handler with a lock, errors that tell clients nothing about the servers, and a clean stop.
//!
//! `AUTO_MUTEX_URL=redis://127.0.0.1:6379 cargo run -p auto-mutex-example-axum --example axum_handler`

use auto_mutex::{Config, LockError, auto_mutex};
use axum::Router;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

/// The response of a handler that cannot get its lock.
struct Refusal(LockError);

impl From<LockError> for Refusal {
    fn from(error: LockError) -> Self {
        Self(error)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        // The error names hosts, addresses and files: they are for the log, not for clients.
        eprintln!("refused: {}", self.0);
        let status = if self.0.is_timeout() {
            StatusCode::CONFLICT // another request holds the lock
        } else {
            StatusCode::SERVICE_UNAVAILABLE // Redis is down, or this process stops
        };
        (status, self.0.public_message()).into_response()
    }
}

/// One call at a time for each month, on all machines. Different months don't wait for each other.
#[auto_mutex(name = "close", key = month, block = 5)]
async fn close(Path(month): Path<u32>) -> Result<String, Refusal> {
    // the work
    Ok(format!("month {month} is closed"))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    auto_mutex::setup_async(Config::from_env()?).await?;
    let app = Router::new().route("/close/{month}", post(close));
    let address = std::env::var("LISTEN").unwrap_or("0.0.0.0:8080".to_owned());
    let listener = TcpListener::bind(address).await?;
    println!("listening on http://{}", listener.local_addr()?);

    let mut sigterm = signal(SignalKind::terminate())?;
    axum::serve(listener, app)
        .with_graceful_shutdown(async move {
            sigterm.recv().await;
        })
        .await?; // returns when the last request is answered
    println!("{}", auto_mutex::drain("10s").await?);
    Ok(())
}
