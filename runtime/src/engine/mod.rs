//! The engine: one background thread per client, with a runtime of its own.
//!
//! It owns the connection and the timers, so locks work under any executor, under none, and while a runtime
//! dies. Nobody outside runs on it and no code of users is called while it holds a lock.

use std::future::Future;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use tokio::task::JoinHandle;

use crate::config::{Endpoint, Settings};
use crate::error::SetupError;
use crate::member::Member;
use crate::store::{self, Events, MemberId, Store};

/// After a suspend, timers of the system are late by as long as it slept: look again this often.
const NAP: Duration = Duration::from_secs(1);

/// What the thread opened.
enum Opened {
    Memory(Arc<store::memory::MemoryStore>, store::memory::Driver),
    Redis(Arc<store::redis::RedisStore>, Box<store::redis::Driver>),
}

impl Opened {
    async fn open(settings: &Settings, member: MemberId) -> Result<Self, SetupError> {
        match &settings.endpoint {
            Endpoint::Memory { shared } => {
                let (store, driver) = store::memory::MemoryStore::open(shared.as_deref(), member);
                Ok(Self::Memory(store, driver))
            }
            Endpoint::Redis(endpoint) => {
                let (store, driver) =
                    store::redis::connect(endpoint, settings.connect_timeout, member).await?;
                Ok(Self::Redis(store, Box::new(driver)))
            }
        }
    }

    fn store(&self) -> Arc<dyn Store> {
        match self {
            Self::Memory(store, _) => store.clone(),
            Self::Redis(store, _) => store.clone(),
        }
    }

    /// Runs the store and the timers until the member is closed.
    async fn run(self, member: Arc<Member>) {
        let events: Arc<dyn Events> = member.clone();
        match self {
            Self::Memory(store, driver) => {
                let driver = drive(&member, driver.run(events));
                tick(&member).await;
                store.close();
                let _ = driver.await;
            }
            Self::Redis(store, driver) => {
                let driver = drive(&member, driver.run(events));
                tick(&member).await;
                store.close();
                let _ = driver.await;
            }
        }
    }
}

/// Runs the driver of a store beside the timers.
fn drive(
    member: &Arc<Member>,
    driver: impl Future<Output = ()> + Send + 'static,
) -> JoinHandle<()> {
    let ending = Ending(member.clone());
    tokio::spawn(async move {
        driver.await;
        drop(ending);
    })
}

async fn tick(member: &Member) {
    while !member.is_closed() {
        let wait = member.tick().map(|next| {
            let wait = crate::clock::Instant::now().until(next);
            wait.min(NAP)
        });
        member.timers().wait(wait).await;
    }
}

/// Tells the member when the thread or the driver ends for whatever reason: nobody must wait for it then.
struct Ending(Arc<Member>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

/// Opens the store on a new thread and leaves the thread to it. Blocks until the store is open, for the
/// connect timeout at most.
pub(crate) fn start(settings: Settings) -> Result<Arc<Member>, SetupError> {
    let failed = |error: std::io::Error| SetupError::Engine {
        reason: error.to_string(),
    };
    let (opened, result) = mpsc::sync_channel(1);
    let body = move || {
        let runtime = match tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
        {
            Ok(runtime) => runtime,
            Err(error) => {
                let _ = opened.send(Err(failed(error)));
                return;
            }
        };
        let id = MemberId::random();
        let store = match runtime.block_on(Opened::open(&settings, id)) {
            Ok(store) => store,
            Err(error) => {
                let _ = opened.send(Err(error));
                return;
            }
        };
        let member = Member::new(settings, store.store());
        if opened.send(Ok(member.clone())).is_ok() {
            let ending = Ending(member.clone());
            runtime.block_on(store.run(member));
            drop(ending);
        }
    };
    thread::Builder::new()
        .name("auto-mutex".to_owned())
        .spawn(body)
        .map_err(failed)?;
    result.recv().unwrap_or_else(|_| {
        Err(SetupError::Engine {
            reason: "it ended at once".to_owned(),
        })
    })
}
