//! The time of an annotated call without a remote store: on `memory://`, compared with a plain function.

use std::hint::black_box;

use auto_mutex::{Client, LockError, Mutex, auto_mutex};
use serde::{Deserialize, Serialize};
use tokio::runtime::{Builder, Runtime};

use crate::{Failure, clock};

/// A kind of call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    PlainSync,
    PlainAsync,
    Sync,
    Async,
    AsyncKey,
    Handle,
    /// `Sync` under another lock: its order is already known.
    Nested,
}

impl Kind {
    pub(crate) const ALL: [Self; 7] = [
        Self::PlainSync,
        Self::Sync,
        Self::PlainAsync,
        Self::Async,
        Self::AsyncKey,
        Self::Handle,
        Self::Nested,
    ];

    /// Returns the kind that this kind is compared with.
    pub(crate) fn plain(self) -> Self {
        match self {
            Self::PlainSync | Self::Sync => Self::PlainSync,
            Self::Nested => Self::Sync,
            _ => Self::PlainAsync,
        }
    }

    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::PlainSync => "plain fn",
            Self::PlainAsync => "plain async fn",
            Self::Sync => "#[auto_mutex] fn",
            Self::Async => "#[auto_mutex] async fn",
            Self::AsyncKey => "#[auto_mutex(key)] async fn",
            Self::Handle => "handle: lock, drop",
            Self::Nested => "#[auto_mutex] fn under another lock",
        }
    }
}

/// Nanoseconds per call of each kind.
pub(crate) type Calls = Vec<(Kind, f64)>;

/// Calls are measured in batches of this size.
const TURN: u64 = 2_000;

#[inline(never)]
fn plain_sync(number: u64) -> Result<u64, LockError> {
    Ok(black_box(number))
}

#[auto_mutex]
#[inline(never)]
fn annotated_sync(number: u64) -> Result<u64, LockError> {
    Ok(black_box(number))
}

#[inline(never)]
async fn plain_async(number: u64) -> Result<u64, LockError> {
    Ok(black_box(number))
}

#[auto_mutex]
#[inline(never)]
async fn annotated_async(number: u64) -> Result<u64, LockError> {
    Ok(black_box(number))
}

#[auto_mutex(key = key)]
#[inline(never)]
async fn annotated_key(key: u32) -> Result<u64, LockError> {
    Ok(black_box(key.into()))
}

/// Makes calls on the current client.
pub(crate) struct Caller {
    runtime: Runtime,
    mutex: Mutex,
    outer: Mutex,
}

impl Caller {
    pub(crate) fn new(client: &Client) -> Result<Self, Failure> {
        Ok(Self {
            runtime: Builder::new_current_thread().enable_all().build()?,
            mutex: client.mutex("bench:call"),
            outer: client.mutex("bench:outer").metrics_label("bench:outer"),
        })
    }

    /// Makes `times` calls.
    pub(crate) fn call(&self, kind: Kind, times: u64) -> Result<(), LockError> {
        match kind {
            Kind::PlainSync => (0..times).try_for_each(|n| plain_sync(n).map(drop)),
            Kind::Sync => (0..times).try_for_each(|n| annotated_sync(n).map(drop)),
            Kind::Nested => self
                .outer
                .blocking_synchronize(|_| self.call(Kind::Sync, times))?,
            _ => self.runtime.block_on(self.call_async(kind, times)),
        }
    }

    async fn call_async(&self, kind: Kind, times: u64) -> Result<(), LockError> {
        for number in 0..times {
            match kind {
                Kind::PlainAsync => drop(plain_async(number).await?),
                Kind::Async => drop(annotated_async(number).await?),
                Kind::AsyncKey => drop(annotated_key(7).await?),
                _ => drop(self.mutex.lock().await?),
            }
        }
        Ok(())
    }
}

pub(super) fn run(milliseconds: u64) -> Result<Calls, Failure> {
    auto_mutex::setup("memory://")?;
    let caller = Caller::new(&auto_mutex::client()?)?;
    let mut spent = [(0_u64, 0_u64); Kind::ALL.len()];
    let until = milliseconds * clock::MILLISECOND;
    let mut round = 0;
    while spent.iter().any(|(time, _)| *time < until) {
        round += 1;
        for step in 0..Kind::ALL.len() {
            // Rounds alternate between forward and backward order, so that each kind follows each of its neighbours.
            let index = if round % 2 == 0 {
                step
            } else {
                Kind::ALL.len() - 1 - step
            };
            let kind = Kind::ALL[index];
            let (time, calls) = &mut spent[index];
            if *time >= until {
                continue;
            }
            // Plain functions are cheap, so they are called more often.
            let times = if kind == kind.plain() {
                100 * TURN
            } else {
                TURN
            };
            // The processor time is measured: it excludes other processes, and includes the engine's thread.
            let start = clock::used();
            caller.call(kind, times)?;
            *time += clock::used() - start;
            *calls += times;
        }
    }
    let per_call = |(time, calls): (u64, u64)| time as f64 / calls as f64;
    Ok(Kind::ALL.into_iter().zip(spent.map(per_call)).collect())
}
