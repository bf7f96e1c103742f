//! `auto-mutex serve`: a live page for this machine.
//!
//! - `snapshot.rs`: one thread reads the store for all clients, and only while there are any.
//! - `listen.rs`: accepts connections.
//! - `routes.rs`: answers requests from the last snapshot. `guard.rs`: decides which requests are allowed.
//! - `metrics.rs`: the snapshot in the format of Prometheus.
//! - `page`: the page. It loads nothing from other servers.

mod guard;
mod listen;
mod metrics;
mod routes;
mod snapshot;
#[cfg(test)]
mod tests;

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::watch;

use self::guard::Guard;
use self::routes::Shared;
use self::snapshot::Snapshot;
use crate::args::{Global, Serve};
use crate::exit::{Failure, Outcome};
use crate::store::look;

/// The minimum length of a token, in bytes. Shorter ones could be guessed.
const SHORTEST_TOKEN: usize = 16;

pub(crate) fn run(global: &Global, args: &Serve) -> Outcome {
    let token = match &args.kick_token {
        None => None,
        Some(file) => {
            let shown = file.display();
            let read = || -> io::Result<_> {
                let mut opened = fs::File::open(file)?;
                let mode = opened.metadata()?.permissions().mode();
                let mut token = String::new();
                opened.read_to_string(&mut token)?;
                Ok((token.trim().to_owned(), mode))
            };
            let (token, mode) =
                read().map_err(|error| Failure::Usage(format!("{shown}: {error}")))?;
            if mode & 0o007 != 0 {
                let text = format!(
                    "{shown}: every user of this machine may read or change it: run chmod o= {shown}"
                );
                return Err(Failure::Usage(text));
            }
            if token.len() < SHORTEST_TOKEN {
                let text = format!("{shown}: a token needs at least {SHORTEST_TOKEN} characters");
                return Err(Failure::Usage(text));
            }
            Some(token)
        }
    };
    let guard = Guard::new(args.listen.ip(), token).ok_or_else(|| {
        Failure::Usage(format!(
            "{} can be reached from other machines: give --kick-token, which reading then requires, too",
            args.listen
        ))
    })?;
    let operator = Arc::new(look(global)?);
    let (sender, snapshots) = watch::channel(Arc::new(Snapshot::first(&operator)));
    let (looking, every) = (operator.clone(), args.every.max(Duration::from_millis(100)));
    let (asks, asked) = mpsc::sync_channel(1);
    thread::spawn(move || snapshot::keep(&looking, every, &sender, &asked));
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
            asks,
            every,
            guard,
        });
        listen::serve(&listener, &routes::router(shared)).await
    })
}
