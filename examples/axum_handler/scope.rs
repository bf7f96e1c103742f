//! axum with a client of its own instead of the global one: in a test, for example, on a store in memory.
//!
//! `cargo run -p auto-mutex-example-axum --example axum_scope`

use auto_mutex::tower::ScopeLayer;
use auto_mutex::{Client, LockError, auto_mutex};
use axum::Router;
use axum::body::Body;
use axum::extract::Path;
use axum::http::{Request, StatusCode};
use axum::routing::post;
use tower::ServiceExt as _;

#[auto_mutex(name = "close", key = month, block = 0)]
async fn closed(month: u32) -> Result<String, LockError> {
    Ok(format!("month {month} is closed"))
}

async fn close(Path(month): Path<u32>) -> Result<String, StatusCode> {
    closed(month).await.map_err(|_| StatusCode::CONFLICT)
}

fn app(client: Client) -> Router {
    Router::new()
        .route("/close/{month}", post(close))
        .layer(ScopeLayer::new(client))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let client = Client::connect("memory://")?; // a store of its own: other tests don't see its locks
    let app = app(client.clone());
    let close_month_5 = || Request::post("/close/5").body(Body::empty());

    let busy = client.mutex("close:5").lock().await?;
    let response = app.clone().oneshot(close_month_5()?).await?;
    assert_eq!(response.status(), StatusCode::CONFLICT);

    drop(busy);
    let response = app.oneshot(close_month_5()?).await?;
    assert_eq!(response.status(), StatusCode::OK);
    Ok(())
}
