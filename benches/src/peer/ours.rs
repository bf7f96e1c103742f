//! auto-mutex with handles and with the attribute.

use std::time::Duration;

use auto_mutex::{Client, Config, LockError, Mutex, MutexGuard, auto_mutex};

use super::{Access, Contender, Library, Lock};
use crate::Failure;

/// Returns the configuration of `contender`. Only contenders with `Local` in their names hand off inside the process,
/// and only those with `Kept` keep locks.
pub(crate) fn config(contender: Contender, url: &str, lease: Duration) -> Result<Config, Failure> {
    let config = Config::new(url)?.lease(lease);
    Ok(match contender {
        Contender::AutoMutexLocal
        | Contender::AutoMutexLocalAwaited
        | Contender::AutoMutexPostgresLocal => config,
        Contender::AutoMutexKept | Contender::AutoMutexKeptAwaited => {
            config.local_handoff(0, "0s").retain("1s")
        }
        _ => config.local_handoff(0, "0s"),
    })
}

/// Connects a new client.
pub(crate) fn connect(contender: Contender, url: &str, lease: Duration) -> Result<Client, Failure> {
    Ok(Client::connect(config(contender, url, lease)?)?)
}

pub(crate) struct Ours {
    client: Client,
    awaits: bool,
    /// Whether the connection lasts until the process ends, because its bytes are read before.
    lasts: bool,
}

impl Library for Ours {
    type Lock = OursLock;

    async fn connect(access: &Access) -> Result<Self, Failure> {
        let contender = access.contender;
        let config = config(contender, &access.url, access.lease)?;
        Ok(Self {
            client: Client::connect_async(config).await?,
            lasts: contender.needs_postgres(),
            awaits: matches!(
                contender,
                Contender::AutoMutexAwaited
                    | Contender::AutoMutexPostgresAwaited
                    | Contender::AutoMutexLocalAwaited
                    | Contender::AutoMutexKeptAwaited
            ),
        })
    }

    fn lock(&self, key: &str, _task: usize) -> OursLock {
        OursLock {
            mutex: self.client.mutex(key),
            awaits: self.awaits,
        }
    }

    async fn close(self) {
        match self.lasts {
            true => std::mem::forget(self.client),
            false => self.client.shutdown().await,
        }
    }
}

pub(crate) struct OursLock {
    mutex: Mutex,
    awaits: bool,
}

impl Lock for OursLock {
    type Guard = MutexGuard;

    async fn acquire(&mut self, _turn: u64) -> Result<MutexGuard, Failure> {
        Ok(self.mutex.lock().await?)
    }

    async fn release(&mut self, guard: MutexGuard) -> Result<(), Failure> {
        if self.awaits {
            guard.unlock().await?;
        } else {
            drop(guard);
        }
        Ok(())
    }
}

/// The annotated function. It uses the client that `connect` sets up.
pub(crate) struct Annotated;

impl Library for Annotated {
    type Lock = AnnotatedCall;

    async fn connect(access: &Access) -> Result<Self, Failure> {
        let config = config(Contender::AutoMutexAttribute, &access.url, access.lease)?;
        auto_mutex::setup_async(config).await?;
        Ok(Self)
    }

    fn lock(&self, _key: &str, _task: usize) -> AnnotatedCall {
        AnnotatedCall
    }

    async fn close(self) {
        auto_mutex::shutdown().await;
    }
}

pub(crate) struct AnnotatedCall;

impl Lock for AnnotatedCall {
    type Guard = ();

    /// Makes the whole call, with acquire, body and release: a call cannot be measured in parts.
    async fn acquire(&mut self, turn: u64) -> Result<(), Failure> {
        annotated(turn).await?;
        Ok(())
    }

    async fn release(&mut self, _guard: ()) -> Result<(), Failure> {
        Ok(())
    }
}

#[auto_mutex]
async fn annotated(turn: u64) -> Result<u64, LockError> {
    Ok(turn)
}
