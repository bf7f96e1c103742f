//! `auto-mutex serve`: a live page for this machine.
//!
//! - `snapshot.rs`: one thread reads the store, independently of the number of clients.
//! - `routes.rs`: answers requests from the last snapshot. `guard.rs`: decides which requests are allowed.
//! - `metrics.rs`: the snapshot in the format of Prometheus.
//! - `page`: the page. It loads nothing from other servers.

mod guard;
mod metrics;
mod routes;
mod snapshot;
#[cfg(test)]
mod tests;

use std::fs;
use std::io::{self, Write as _};
use std::sync::Arc;
use std::thread;

use tokio::net::TcpListener;
use tokio::sync::watch;

use self::guard::Guard;
use self::routes::Shared;
use self::snapshot::Snapshot;
use crate::args::{Global, Serve};
use crate::exit::{Exit, Failure, Outcome};
use crate::store::look;

/// The least length of a token, in bytes. A shorter token could be guessed.
const SHORTEST_TOKEN: usize = 16;

pub(crate) fn run(global: &Global, args: &Serve) -> Outcome {
    let token = match &args.kick_token {
        None => None,
        Some(file) => {
            let shown = file.display();
            let token = fs::read_to_string(file)
                .map_err(|error| Failure::Usage(format!("{shown}: {error}")))?;
            let token = token.trim().to_owned();
            if token.len() < SHORTEST_TOKEN {
                let text = format!("{shown}: a token needs at least {SHORTEST_TOKEN} characters");
                return Err(Failure::Usage(text));
            }
            Some(token)
        }
    };
    let guard = Guard::new(args.listen.ip(), token).ok_or_else(|| {
        Failure::Usage(format!(
            "{} can be reached from other machines: give --kick-token, which reading needs too then",
            args.listen
        ))
    })?;
    let operator = Arc::new(look(global)?);
    let (sender, snapshots) = watch::channel(Arc::new(Snapshot::first(&operator)));
    let (looking, every) = (operator.clone(), args.every);
    thread::spawn(move || snapshot::keep(&looking, every, &sender));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(args.listen)
            .await
            .map_err(|error| Failure::Other(format!("{}: {error}", args.listen)))?;
        let mode = if guard.may_kick_at_all() {
            "kicks with the token"
        } else {
            "read-only"
        };
        writeln!(io::stderr(), "http://{}/ ({mode})", listener.local_addr()?)?;
        let shared = Arc::new(Shared {
            operator,
            snapshots,
            guard,
        });
        axum::serve(listener, routes::router(shared)).await?;
        Ok(Exit::Done)
    })
}
