//! The answers to requests.

use std::convert::Infallible;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant, SystemTime};

use auto_mutex::LockError;
use auto_mutex::operator::Operator;
use axum::Router;
use axum::extract::{ConnectInfo, Path, Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use futures::stream::unfold;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::watch;
use tokio::task::{JoinError, spawn_blocking};
use tokio::time::timeout;

use super::guard::Guard;
use super::metrics;
use super::snapshot::Snapshot;
use crate::exit::Failure;
use crate::output::json::{Listed, Seat, Shown, Versioned, list};
use crate::output::words::{clean, date};
use crate::store::one;

const HTML: &str = include_str!("page/index.html");
const STYLE: &str = include_str!("page/style.css");
const SCRIPT: &str = include_str!("page/page.js");

/// The content security policy: the page loads nothing from other servers, and can't be framed by another page.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";

/// How long `/metrics` waits for a look at the store.
const SCRAPE: Duration = Duration::from_millis(1500);

pub(crate) struct Shared {
    pub(crate) operator: Arc<Operator>,
    pub(crate) snapshots: watch::Receiver<Arc<Snapshot>>,
    /// Contains a message if the store must be read although no page is open.
    pub(crate) asks: SyncSender<()>,
    pub(crate) every: Duration,
    pub(crate) guard: Guard,
}

impl Shared {
    /// A snapshot that is as recent as that of an open page, or newer than the request.
    async fn fresh(&self) -> Arc<Snapshot> {
        let asked = Instant::now();
        let mut snapshots = self.snapshots.clone();
        loop {
            let snapshot = snapshots.borrow_and_update().clone();
            let serves = |at: Instant| at >= asked || at.elapsed() <= self.every;
            if snapshot.at.is_some_and(serves) {
                return snapshot;
            }
            // If there is already a message, that is enough.
            let _ = self.asks.try_send(());
            if snapshots.changed().await.is_err() {
                return snapshot;
            }
        }
    }

    async fn read(&self) -> Result<Arc<Snapshot>, Trouble> {
        let snapshot = self.fresh().await;
        match &snapshot.trouble {
            Some(error) => Err(Trouble(StatusCode::BAD_GATEWAY, error.clone())),
            None => Ok(snapshot),
        }
    }
}

type AppState = State<Arc<Shared>>;

pub(crate) fn router(shared: Arc<Shared>) -> Router {
    let reading = Router::new()
        .route("/events", get(events))
        .route("/metrics", get(write_metrics))
        .route("/search/{text}", get(search))
        .route("/api/ls", get(ls))
        .route("/api/leaders", get(leaders))
        .route("/api/show/{name}", get(show))
        .route("/api/tree", get(tree))
        .layer(from_fn_with_state(shared.clone(), read));
    let mut router = Router::new();
    for (path, content_type, text) in [
        ("/", "text/html; charset=utf-8", HTML),
        ("/style.css", "text/css; charset=utf-8", STYLE),
        ("/page.js", "text/javascript; charset=utf-8", SCRIPT),
    ] {
        router = router.route(path, get(async move || typed(content_type, text)));
    }
    router
        .route("/mode", get(mode))
        .route("/api/kick", post(kick))
        .merge(reading)
        .layer(from_fn_with_state(shared.clone(), come))
        .with_state(shared)
}

/// Applies [`Guard::may_come`] to each request, and restricts what browsers do with the answer.
async fn come(State(shared): AppState, request: Request, next: Next) -> Response {
    let mut response = match shared.guard.may_come(request.headers()) {
        Ok(()) => next.run(request).await,
        Err(status) => refusal(status),
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, "no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

async fn read(State(shared): AppState, request: Request, next: Next) -> Response {
    match shared.guard.may_read(request.headers()) {
        Ok(()) => next.run(request).await,
        Err(status) => refusal(status),
    }
}

fn refusal(status: StatusCode) -> Response {
    let why = match status {
        StatusCode::UNAUTHORIZED => "send the token: Authorization: Bearer …\n",
        StatusCode::FORBIDDEN => "read-only: start `auto-mutex serve` with --kick-token FILE\n",
        _ => "the Host header is not a name of this machine: use localhost\n",
    };
    (status, why).into_response()
}

fn typed(content_type: &'static str, body: impl IntoResponse) -> Response {
    ([(CONTENT_TYPE, content_type)], body).into_response()
}

fn json(status: StatusCode, document: &impl Serialize) -> Response {
    match serde_json::to_vec(&Versioned::new(document)) {
        Ok(body) => (status, typed("application/json", body)).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

/// An error document.
struct Trouble(StatusCode, String);

impl IntoResponse for Trouble {
    fn into_response(self) -> Response {
        json(self.0, &json!({ "error": self.1 }))
    }
}

impl From<JoinError> for Trouble {
    fn from(error: JoinError) -> Self {
        Self(StatusCode::INTERNAL_SERVER_ERROR, error.to_string())
    }
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        let status = match &failure {
            Failure::Lock(LockError::InvalidName { .. }) => StatusCode::BAD_REQUEST,
            Failure::Lock(error) if !error.is_transient() => StatusCode::INTERNAL_SERVER_ERROR,
            _ => StatusCode::BAD_GATEWAY,
        };
        Self(status, failure.to_string())
    }
}

type Answer = Result<Response, Trouble>;

/// The mode of the server. The page requests it.
async fn mode(State(shared): AppState) -> Response {
    let (reads, kicks) = (
        shared.guard.reading_needs_token(),
        shared.guard.may_kick_at_all(),
    );
    json(
        StatusCode::OK,
        &json!({ "reading_needs_token": reads, "kicks": kicks }),
    )
}

/// The snapshots as server-sent events: first the latest, then each new one.
async fn events(State(shared): AppState) -> Response {
    let mut snapshots = shared.snapshots.clone();
    let _ = shared.asks.try_send(());
    shared.fresh().await;
    snapshots.mark_changed();
    let updates = unfold(snapshots, |mut snapshots| async move {
        snapshots.changed().await.ok()?;
        let update = snapshots.borrow_and_update().update.clone();
        let event = Event::default().data(&*update);
        Some((Ok::<_, Infallible>(event), snapshots))
    });
    Sse::new(updates).into_response()
}

/// Answers in time even if the store doesn't: a scrape that times out would tell nothing.
async fn write_metrics(State(shared): AppState) -> Response {
    let fresh = timeout(SCRAPE, shared.fresh()).await;
    let last = shared.snapshots.borrow().clone();
    // A store that takes long for its many locks is slow every time.
    let is_late = fresh.is_err() && last.took < SCRAPE;
    let text = metrics::text(&fresh.unwrap_or(last), is_late);
    typed("text/plain; version=0.0.4; charset=utf-8", text)
}

/// For the page, whose events have only the first locks.
async fn search(State(shared): AppState, Path(text): Path<String>) -> Response {
    let snapshot = shared.snapshots.borrow().clone();
    json(StatusCode::OK, &snapshot.search(&text))
}

async fn ls(State(shared): AppState) -> Answer {
    let snapshot = shared.read().await?;
    let locks: Vec<_> = snapshot.locks.iter().map(Listed::of).collect();
    Ok(json(StatusCode::OK, &list("locks", &locks)))
}

async fn leaders(State(shared): AppState) -> Answer {
    let snapshot = shared.read().await?;
    let mut seats: Vec<_> = snapshot
        .locks
        .iter()
        .filter(|lock| lock.is_seat())
        .collect();
    seats.sort_by(|a, b| a.name.cmp(&b.name));
    let seats: Vec<_> = seats.into_iter().map(Seat::of).collect();
    Ok(json(StatusCode::OK, &list("leaders", &seats)))
}

async fn tree(State(shared): AppState) -> Answer {
    let snapshot = shared.read().await?;
    Ok(json(StatusCode::OK, &list("chains", &snapshot.chains)))
}

async fn show(State(shared): AppState, Path(name): Path<String>) -> Answer {
    let asked = spawn_blocking(move || one(shared.operator.inspect(&[name])?));
    Ok(json(StatusCode::OK, &Shown::of(&asked.await??)))
}

/// The body of a request to break a hold. The token is a string, as in all documents.
#[derive(Deserialize)]
struct Kick {
    name: String,
    token: String,
}

async fn kick(
    State(shared): AppState,
    ConnectInfo(from): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    body: String,
) -> Answer {
    let log = |what: &str| {
        let _ = writeln!(io::stderr(), "{} {from} {what}", date(SystemTime::now()));
    };
    if let Err(status) = shared.guard.may_kick(&headers) {
        log("may not break holds: no valid token was sent");
        return Ok(refusal(status));
    }
    let asked = serde_json::from_str::<Kick>(&body).ok();
    let asked = asked.and_then(|asked| Some((asked.token.parse::<u64>().ok()?, asked.name)));
    let Some((token, name)) = asked else {
        let text = r#"send {"name": "…", "token": "…"}"#;
        return Err(Trouble(StatusCode::BAD_REQUEST, text.to_owned()));
    };
    let lock = name.clone();
    let kick = move || {
        let by = format!("{from} with auto-mutex serve");
        shared.operator.kick_by(&lock, token, &by)
    };
    let kicked = spawn_blocking(kick).await?.map_err(Failure::from);
    let outcome = match &kicked {
        Ok(true) => "broken".to_owned(),
        Ok(false) => "there was no such hold".to_owned(),
        Err(error) => clean(&error.to_string()).into_owned(),
    };
    log(&format!("kick {} --token {token}: {outcome}", clean(&name)));
    let kicked = kicked?;
    // CONFLICT corresponds to the exit code 4 of `kick`: the lock has no hold with this token.
    let status = match kicked {
        true => StatusCode::OK,
        false => StatusCode::CONFLICT,
    };
    let token = token.to_string();
    Ok(json(
        status,
        &json!({ "name": name, "token": token, "kicked": kicked }),
    ))
}
