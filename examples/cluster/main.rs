//! Three processes, one lock, one kill: auto-mutex at work, in some ten seconds.
//!
//! Three worker processes call one annotated method (`ledger.rs`) on a shared Redis. One of them is killed with SIGKILL
//! while it is inside the method. The terminal shows which worker is inside, which ones wait, and the take-over; at the
//! end it shows a timeline and the counts. The exit code is 0 only if an independent witness (`witness.rs`) saw no
//! overlap and the lock was taken over.
//!
//! `cargo run --example cluster`
//!
//! The program uses the Redis of `AUTO_MUTEX_URL`. If that is not set, it starts a private one. If there is no
//! redis-server on the PATH, the workers are threads of one process on `memory://`.
//!
//! `cargo run --example cluster -- --unprotected` calls the same method without the lock, to show that the witness
//! does see overlaps.
//!
//! `cargo run --example cluster -- --postgres` does the same on PostgreSQL: on that of `AUTO_MUTEX_URL`, or on a
//! private one, if its programs are installed.
//!
//! `cargo run --example cluster -- --svg docs/timeline.svg` also writes the timeline as a picture.
//!
//! This file chooses the role of the process. `script.rs` directs the show.

mod board;
mod clock;
mod crew;
mod event;
mod history;
mod ledger;
mod plan;
mod postgres;
mod report;
mod script;
mod server;
mod store;
mod svg;
mod timeline;
mod witness;
mod worker;

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use plan::{KILL_AFTER, LEASE, Protection, WORKERS};
use store::Kind;

type Failure = Box<dyn Error + Send + Sync>;

/// The role of this process.
enum Role {
    /// The process that the user started; the picture is written to the file.
    Show(Kind, Protection, Option<PathBuf>),
    /// A worker process, started by the show.
    Worker(usize, PathBuf, Protection),
}

impl Role {
    fn parse(words: &[String]) -> Option<Self> {
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        let (kind, rest) = match words.as_slice() {
            ["--postgres", rest @ ..] => (Kind::Postgres, rest),
            rest => (Kind::Redis, rest),
        };
        match rest {
            [] => Some(Self::Show(kind, Protection::Lock, None)),
            ["--unprotected"] => Some(Self::Show(kind, Protection::None, None)),
            ["--svg", file] => Some(Self::Show(kind, Protection::Lock, Some(file.into()))),
            ["--worker", number, witness, protection] => Some(Self::Worker(
                number.parse().ok()?,
                witness.into(),
                Protection::parse(protection)?,
            )),
            _ => None,
        }
    }
}

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args().skip(1).collect();
    let result = match Role::parse(&words) {
        Some(Role::Show(kind, protection, picture)) => show(kind, protection, picture),
        Some(Role::Worker(number, witness, protection)) => {
            crew::processes::be_worker(number, witness, protection).map(|()| ExitCode::SUCCESS)
        }
        None => {
            eprintln!("usage: cluster [--postgres] [--unprotected | --svg FILE]");
            return ExitCode::from(2);
        }
    };
    result.unwrap_or_else(|error| {
        eprintln!("cluster: {error}");
        ExitCode::FAILURE
    })
}

fn show(kind: Kind, protection: Protection, picture: Option<PathBuf>) -> Result<ExitCode, Failure> {
    let store = store::Store::find(kind)?;
    println!("store    {store}");
    match protection {
        Protection::Lock => println!(
            "plan     {WORKERS} workers, one lock, some ten seconds; one is {} after {} s",
            store.fate().word(),
            KILL_AFTER.as_secs()
        ),
        Protection::None => {
            println!(
                "plan     {WORKERS} workers call the method WITHOUT the lock: see them overlap"
            );
        }
    }
    println!(
        "lease    {} s, so that the take-over is soon seen (10 s unless said otherwise)\n",
        LEASE.as_secs()
    );
    let history = script::play(&store, protection)?;
    if let Some(file) = picture {
        svg::write(&history, &file).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    Ok(report::print(&history, protection))
}
