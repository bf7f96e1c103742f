//! Web handlers with the attribute: one lock per account, and a job that runs for one request at a time.
//!
//! The program starts a server on a free port, sends itself some requests at the same time, and ends.
//!
//! `cargo run --example axum_handler`

use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use auto_mutex::{LockError, auto_mutex};
use auto_mutex_examples::store;
use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

/// Two accounts; in a real program, rows of a database.
#[derive(Default)]
struct Bank {
    balances: [AtomicU32; 2],
}

/// The response of a handler that cannot do its work.
enum Refusal {
    Locking(LockError),
    NoSuchAccount,
}

impl From<LockError> for Refusal {
    fn from(error: LockError) -> Self {
        Self::Locking(error)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        match self {
            Self::Locking(error) if error.is_timeout() => {
                (StatusCode::CONFLICT, "busy, try again".to_owned())
            }
            Self::Locking(error) => (
                StatusCode::SERVICE_UNAVAILABLE,
                error.public_message().to_owned(),
            ),
            Self::NoSuchAccount => (StatusCode::NOT_FOUND, "no such account".to_owned()),
        }
        .into_response()
    }
}

/// Requests for the same account take turns, on all machines. Requests for different accounts do not wait for each other.
#[auto_mutex(expire = 10, block = 30, key = account)]
async fn deposit(
    State(bank): State<Arc<Bank>>,
    Path((account, amount)): Path<(usize, u32)>,
) -> Result<String, Refusal> {
    let balance = bank.balances.get(account).ok_or(Refusal::NoSuchAccount)?;
    let before = balance.load(Ordering::Relaxed);
    // Without the lock, another request could change the balance during this sleep, and its update would be lost.
    sleep(Duration::from_millis(20)).await;
    balance.store(before + amount, Ordering::Relaxed);
    Ok(format!("balance {}", before + amount))
}

/// A request that comes while another one runs fails at once.
#[auto_mutex(expire = 10, block = 0)]
async fn close_books() -> Result<&'static str, Refusal> {
    sleep(Duration::from_millis(500)).await;
    Ok("closed")
}

/// Sends a request to this server; returns the status line and the body.
async fn request(address: SocketAddr, path: String) -> io::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    let head = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await?;
    let mut reply = String::new();
    stream.read_to_string(&mut reply).await?;
    let status = reply.lines().next().unwrap_or_default();
    let status = status.strip_prefix("HTTP/1.1 ").unwrap_or(status);
    let body = reply.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    Ok(format!("{path}: {status}: {body}"))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    auto_mutex::setup(store("bank")?)?;

    let bank = Arc::new(Bank::default());
    let app = Router::new()
        .route("/deposit/{account}/{amount}", get(deposit))
        .route("/close", get(close_books))
        .with_state(bank.clone());
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    println!("listening on http://{address}");
    let server = tokio::spawn(async move { axum::serve(listener, app).await });

    let deposits = (1..=5).flat_map(|amount| [0, 1].map(|n| format!("/deposit/{n}/{amount}")));
    let closed = (0..3).map(|_| "/close".to_owned());
    let requests: Vec<_> = deposits
        .chain(closed)
        .map(|path| tokio::spawn(request(address, path)))
        .collect();
    for request in requests {
        println!("  {}", request.await??);
    }
    server.abort();

    let balances = bank.balances.each_ref().map(|b| b.load(Ordering::Relaxed));
    println!("five deposits of 1 to 5 on each account: {balances:?}");
    auto_mutex::shutdown().await;
    if balances == [15, 15] {
        Ok(())
    } else {
        Err("a deposit was lost".into())
    }
}
