//! [`Snapshot`]: the result of the last read of the store.

use std::borrow::Cow;
use std::sync::{Arc, mpsc};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

use auto_mutex::operator::{Lock, Operator};
use serde::Serialize;
use tokio::sync::watch;

use crate::exit::Failure;
use crate::output::chain::Chain;
use crate::output::json::{Listed, Versioned, millis};
use crate::output::words::{date, has_text, holders, readable, waiting};
use crate::store::{in_use, waits};

/// The most locks, and the most chains, that the page gets.
const SHOWN: usize = 500;
const SHOWN_CHAINS: usize = 50;

/// The result of the last read of the store.
pub(crate) struct Snapshot {
    pub(crate) locks: Vec<Lock>,
    pub(crate) chains: Vec<Chain>,
    /// When the last read ended; `None` before the first one.
    pub(crate) at: Option<Instant>,
    /// The duration of the last read.
    pub(crate) took: Duration,
    /// When the locks were read; `None` before the first successful read.
    pub(crate) read: Option<Instant>,
    /// Why the last read failed. Locks and chains are then those of the last successful read.
    pub(crate) trouble: Option<String>,
    /// The event for the page, as JSON.
    pub(crate) update: String,
}

/// The event sent to the page.
#[derive(Serialize)]
struct Update<'a> {
    at: String,
    place: &'a str,
    trouble: Option<&'a str>,
    /// How old the locks are: older than the event while the store is away.
    age_ms: Option<u64>,
    count: usize,
    waiting: u64,
    locks: Vec<Row<'a>>,
    chains: &'a [Chain],
    chain_count: usize,
}

/// The locks that a search has found: the first ones, and how many there are.
#[derive(Serialize)]
pub(crate) struct Found<'a> {
    count: usize,
    locks: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    /// The name as displayed.
    shown: Cow<'a, str>,
    holder: String,
    /// What the leader published.
    value: Option<&'a str>,
    #[serde(flatten)]
    lock: Listed,
}

impl<'a> Row<'a> {
    fn of(lock: &'a Lock) -> Self {
        Self {
            shown: readable(&lock.name),
            holder: holders(lock),
            value: lock.leader().and_then(|leader| leader.value.as_deref()),
            lock: Listed::of(lock),
        }
    }
}

impl Snapshot {
    /// The empty snapshot before the first read.
    pub(crate) fn first(operator: &Operator) -> Self {
        Self {
            at: None,
            ..Self::of(
                operator.store(),
                Vec::new(),
                Vec::new(),
                Duration::ZERO,
                None,
                None,
            )
        }
    }

    /// The locks in which `text` occurs: see [`has_text`].
    pub(crate) fn search(&self, text: &str) -> Found<'_> {
        let text = text.to_lowercase();
        let found = self.locks.iter().filter(|lock| has_text(lock, &text));
        let mut locks: Vec<_> = found.collect();
        let count = locks.len();
        locks.truncate(SHOWN);
        Found {
            count,
            locks: locks.into_iter().map(Row::of).collect(),
        }
    }

    pub(crate) fn of(
        place: String,
        mut locks: Vec<Lock>,
        chains: Vec<Chain>,
        took: Duration,
        read: Option<Instant>,
        trouble: Option<String>,
    ) -> Self {
        locks.sort_by(|a, b| {
            let oldest = b.oldest_wait().cmp(&a.oldest_wait());
            oldest
                .then(b.held().cmp(&a.held()))
                .then(a.name.cmp(&b.name))
        });
        let update = Update {
            at: date(SystemTime::now()),
            place: &place,
            trouble: trouble.as_deref(),
            age_ms: read.map(|read| millis(read.elapsed())),
            count: locks.len(),
            waiting: waiting(&locks),
            locks: locks.iter().take(SHOWN).map(Row::of).collect(),
            chains: &chains[..chains.len().min(SHOWN_CHAINS)],
            chain_count: chains.len(),
        };
        let update = serde_json::to_string(&Versioned::new(update)).unwrap_or_default();
        Self {
            locks,
            chains,
            at: Some(Instant::now()),
            took,
            read,
            trouble,
            update,
        }
    }
}

/// Until there are no receivers of requests: reads the store at an interval while a page is open, and otherwise for
/// each request in `asked`.
pub(crate) fn keep(
    operator: &Operator,
    every: Duration,
    sender: &watch::Sender<Arc<Snapshot>>,
    asked: &mpsc::Receiver<()>,
) {
    while asked.recv().is_ok() {
        loop {
            let began = Instant::now();
            let looked = read(operator);
            let trouble = looked.as_ref().err().map(Failure::to_string);
            let looked = looked.map(|(locks, chains)| (locks, chains, Some(Instant::now())));
            let (locks, chains, read) = looked.unwrap_or_else(|_| {
                let last = sender.borrow();
                (last.locks.clone(), last.chains.clone(), last.read)
            });
            let took = began.elapsed();
            let snapshot = Snapshot::of(operator.store(), locks, chains, took, read, trouble);
            sender.send_replace(Arc::new(snapshot));
            // This read has answered them.
            while asked.try_recv().is_ok() {}
            sleep(every);
            // Each open page has a receiver. Those of single requests are gone.
            if sender.receiver_count() <= 1 {
                break;
            }
        }
    }
}

fn read(operator: &Operator) -> Result<(Vec<Lock>, Vec<Chain>), Failure> {
    let locks = in_use(operator, "*")?;
    let waits = waits(operator, &locks)?;
    let chains = waits.chains().iter().map(Chain::of).collect();
    Ok((locks, chains))
}
