//! Tasks that each hold a lock of their own, and wait for one that another task holds. That task ends the crowd's wait
//! by a deadlock.

use std::sync::Arc;

use auto_mutex::{Client, Deadlock, LockError};
use serde::{Deserialize, Serialize};
use tokio::sync::Barrier;
use tokio::task::spawn_blocking;

use super::talk::{ready, say, until_dismissed};
use super::turns::runtime;
use crate::job::Nested;
use crate::peer::{Contender, LEASE, ours};
use crate::{Failure, clock};

/// The report after the end of the input.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Found {
    /// The time from the last wait of a deadlock to its failure; 0 if clients don't look for deadlocks.
    pub(crate) after_ns: u64,
}

pub(super) fn run(job: &Nested) -> Result<(), Failure> {
    let connect = |deadlock| {
        let config = ours::config(Contender::AutoMutex, &job.url, LEASE)?;
        let deadlock = if job.searches {
            deadlock
        } else {
            Deadlock::Off
        };
        Ok::<_, Failure>(Client::connect(config.deadlock(deadlock))?)
    };
    runtime(Contender::AutoMutex)?.block_on(async {
        let hot = connect(Deadlock::Fail)?;
        let clients = (0..job.clients).map(|_| connect(Deadlock::Report));
        let clients = clients.collect::<Result<Vec<_>, _>>()?;
        ready()?;
        let (held, all) = (
            Arc::new(Barrier::new(2)),
            Arc::new(Barrier::new(job.tasks + 1)),
        );
        let holds = held.clone();
        let (searches, own) = (job.searches, format!("own:{}", job.tasks / 2));
        let last = tokio::spawn(async move {
            let body = async |_: &_| {
                holds.wait().await;
                spawn_blocking(until_dismissed).await?;
                if !searches {
                    return Ok(0);
                }
                let began = clock::now();
                match hot.mutex(&own).lock().await {
                    Err(LockError::Deadlock { .. }) => Ok(clock::now() - began),
                    Err(error) => Err(Failure::from(error)),
                    Ok(_) => Err("there is no deadlock".into()),
                }
            };
            hot.mutex("hot").synchronize(body).await?
        });
        held.wait().await;
        for number in 0..job.tasks {
            let (client, all) = (clients[number % job.clients].clone(), all.clone());
            tokio::spawn(async move {
                let body = async |_: &_| {
                    all.wait().await;
                    client.mutex("hot").lock().await.map(drop)
                };
                client
                    .mutex(format!("own:{number}"))
                    .synchronize(body)
                    .await?
            });
        }
        all.wait().await;
        say("waiting", &())?;
        let after_ns = last.await??;
        say("done", &Found { after_ns })
    })
}
