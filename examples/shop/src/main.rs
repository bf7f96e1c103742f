//! A shop that runs in several instances, with its orders and its locks in one PostgreSQL.
//!
//! - `POST /orders/{order}` pays an order, once. With too many others, it is answered with 429.
//! - One instance at a time ships what is paid.
//! - `/readyz`, for the readiness probe: the locks can be taken.
//! - SIGTERM: running requests are answered, then the locks are released.
//!
//! ```sh
//! export DATABASE_URL=postgres://postgres:secret@127.0.0.1/postgres AUTO_MUTEX_URL=$DATABASE_URL
//! cargo run -p auto-mutex-example-shop
//! ```

#![forbid(unsafe_code)]

use std::env;
use std::error::Error;
use std::io;

use auto_mutex::Config;
use auto_mutex_example_shop::{lead, order};
use axum::Router;
use axum::http::StatusCode;
use axum::routing::{get, post};
use sqlx::PgPool;
use sqlx::postgres::PgConnectOptions;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

async fn readyz() -> (StatusCode, &'static str) {
    match auto_mutex::health() {
        Ok(health) if health.is_ready() => return (StatusCode::OK, "ready"),
        Ok(health) => tracing::warn!("not ready: {health}"),
        Err(error) => tracing::warn!("not ready: {error}"),
    }
    (StatusCode::SERVICE_UNAVAILABLE, "not ready")
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    tracing_subscriber::fmt()
        .with_ansi(false)
        .with_writer(io::stderr)
        .init();
    let mut sigterm = signal(SignalKind::terminate())?;
    // An instance that is suspended in a transaction keeps the next holder of its lock waiting.
    let options: PgConnectOptions = env::var("DATABASE_URL")?.parse()?;
    let options = options.options([("idle_in_transaction_session_timeout", "1min")]);
    let pool = PgPool::connect_with(options).await?;
    sqlx::migrate!().run(&pool).await?;
    auto_mutex::setup_async(Config::from_env()?).await?;
    // An error here if a payment could not be fenced, because the locks are in another database, for example.
    auto_mutex_fence::ready(&mut pool.begin().await?).await?;

    let address = env::var("LISTEN").unwrap_or("0.0.0.0:8080".to_owned());
    let listener = TcpListener::bind(address).await?;
    let address = listener.local_addr()?.to_string();
    let shipping = tokio::spawn(lead(pool.clone(), address.clone()));
    println!("listening on http://{address}");
    let app = Router::new()
        .route("/orders/{order}", post(order))
        .route("/readyz", get(readyz))
        .with_state(pool);
    axum::serve(listener, app)
        .with_graceful_shutdown(async move {
            sigterm.recv().await;
        })
        .await?;
    println!("{}", auto_mutex::drain("10s").await?);
    // It has ended: the drain waits for its body.
    let _ = shipping.await?;
    Ok(())
}
