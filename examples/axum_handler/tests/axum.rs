//! Runs the examples, which `cargo test` has built, and calls the server.

use std::process::Command;

use auto_mutex::tower::ScopeLayer;
use auto_mutex::{Client, LockError, Mutex};
use auto_mutex_examples::run::{Running, ask, built, command};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::Request;
use axum::routing::get;
use tower::ServiceExt as _;

#[test]
fn a_server_with_locks_answers_and_stops() {
    let mut server = Running::start(&mut command(built("examples", "axum_handler"), "memory://"));
    let address = server.address();
    let closed = (200, "month 5 is closed".to_owned());
    assert_eq!(ask(&address, "POST", "/close/5"), closed);
    server.terminate();
    let (status, rest) = server.end();
    assert!(status.success(), "{status}");
    assert_eq!(rest, "every lock was released");
}

#[test]
fn requests_use_the_client_of_the_layer() {
    let output = Command::new(built("examples", "axum_scope")).output();
    let output = output.expect("it starts");
    assert!(output.status.success(), "{output:?}");
}

/// Which clients see the lock of a running request: the global one, and that of the layer.
async fn seen(global: Client, layers: Client) -> Result<String, LockError> {
    let _guard = Mutex::new("requests").lock().await?;
    let of_global = global.mutex("requests").is_locked().await?;
    let of_layer = layers.mutex("requests").is_locked().await?;
    Ok(format!("{of_global} {of_layer}"))
}

#[tokio::test]
async fn the_client_of_the_layer_takes_precedence_over_the_global_one() {
    auto_mutex::setup("memory://").expect("the only one");
    let global = auto_mutex::client().expect("it is set up");
    let layers = Client::connect("memory://").expect("it is there");
    let handler = {
        let clients = (global, layers.clone());
        async move || {
            seen(clients.0, clients.1)
                .await
                .map_err(|it| it.to_string())
        }
    };
    let plain = Router::new().route("/", get(handler));
    for (app, expected) in [
        (plain.clone(), "true false"),
        (plain.layer(ScopeLayer::new(layers)), "false true"),
    ] {
        let request = Request::get("/").body(Body::empty()).expect("a request");
        let response = app.oneshot(request).await.expect("infallible");
        let body = to_bytes(response.into_body(), 100).await.expect("a body");
        assert_eq!(body, expected);
    }
}
