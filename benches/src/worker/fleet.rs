//! Many clients in one process that connect. Each takes and releases a lock of its own, and then does nothing.

use std::future::pending;
use std::time::Duration;

use super::talk::{ready, say};
use super::turns::runtime;
use crate::job::Fleet;
use crate::peer::{Access, LEASE, Library, Lock, with_library};
use crate::{Failure, clock};

/// The time after which a client fails, and its pause between two attempts.
const LONGEST: u64 = 60 * clock::SECOND;
const PAUSE: Duration = Duration::from_millis(200);

pub(super) fn run(job: &Fleet) -> Result<(), Failure> {
    runtime(job.contender)?
        .block_on(async { with_library!(job.contender, |L| fleet::<L>(job).await) })
}

/// Says `served` with the time when the last client has used its lock, and lives until the process is killed.
async fn fleet<L: Library>(job: &Fleet) -> Result<(), Failure> {
    let start = ready()?.start;
    tokio::time::sleep(Duration::from_nanos(start.saturating_sub(clock::now()))).await;
    let mut clients = Vec::with_capacity(job.clients);
    while clients.len() < job.clients {
        let next = clients.len()..job.clients.min(clients.len() + job.at_once);
        let tasks: Vec<_> = next
            .map(|number| {
                let access = Access {
                    contender: job.contender,
                    url: job.url.clone(),
                    lease: LEASE,
                    locks: 1,
                };
                let name = format!("fleet:{}:{number}", std::process::id());
                tokio::spawn(use_once::<L>(access, name))
            })
            .collect();
        for task in tasks {
            clients.push(task.await??);
        }
    }
    say("served", &clock::now())?;
    pending::<()>().await;
    drop(clients);
    Ok(())
}

/// Tries again if the server is too busy, as a service does that is started again.
async fn use_once<L: Library>(access: Access, name: String) -> Result<(L, L::Lock), Failure> {
    let ends = clock::now() + LONGEST;
    loop {
        match turn::<L>(&access, &name).await {
            Err(error) if clock::now() > ends => return Err(error),
            Err(_) => tokio::time::sleep(PAUSE).await,
            client => return client,
        }
    }
}

async fn turn<L: Library>(access: &Access, name: &str) -> Result<(L, L::Lock), Failure> {
    let library = L::connect(access).await?;
    let mut lock = library.lock(name, 0);
    let guard = lock.acquire(0).await?;
    lock.release(guard).await?;
    Ok((library, lock))
}
