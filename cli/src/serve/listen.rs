//! Accepts connections, and ends those whose client sends no request.

use std::time::Duration;

use axum::extract::ConnectInfo;
use axum::{Extension, Router};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::time::sleep;

use crate::exit::Outcome;

/// How long the head of a request may take to arrive.
const HEAD: Duration = Duration::from_secs(5);
/// The pause after a connection could not be accepted, because the process has too many.
const PAUSE: Duration = Duration::from_millis(100);

pub(super) async fn serve(listener: &TcpListener, router: &Router) -> Outcome {
    let mut builder = Builder::new(TokioExecutor::new()).http1_only();
    let mut http = builder.http1();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD);
    loop {
        let Ok((stream, from)) = listener.accept().await else {
            // Those that are silent end soon.
            sleep(PAUSE).await;
            continue;
        };
        let service = router.clone().layer(Extension(ConnectInfo(from)));
        let builder = builder.clone();
        tokio::spawn(async move {
            let served =
                builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(service));
            // Its errors are those of the client, such as one that is gone.
            let _ = served.await;
        });
    }
}
