//! Tasks that repeatedly acquire and release a lock, and record the times.

use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

use super::talk::{Span, ready, say, until_dismissed};
use crate::job::Turns;
use crate::measure::record::{self, Record};
use crate::peer::ours::Annotated;
use crate::peer::raw::Raw;
use crate::peer::{
    Access, Contender, LEASE, Library, Lock, OursRwLock, OursSemaphore, with_library,
};
use crate::{Failure, clock};

pub(super) fn run(job: &Turns) -> Result<(), Failure> {
    let tasks = if job.contender == Contender::Raw {
        let mut raw = Raw::connect(job)?;
        let span = ready()?;
        raw.turns(span)?
    } else {
        runtime(job.contender)?.block_on(async {
            match job.contender {
                Contender::AutoMutexAttribute => turns::<Annotated>(job).await,
                Contender::AutoMutexSemaphore => turns::<OursSemaphore>(job).await,
                Contender::AutoMutexRwLock => turns::<OursRwLock>(job).await,
                other => with_library!(other, |L| turns::<L>(job).await),
            }
        })?
    };
    record::write(&job.out, &tasks)?;
    say("done", &())?;
    if job.contender.needs_postgres() {
        // The bytes of the connections are read before they end.
        until_dismissed();
    }
    Ok(())
}

/// Returns a tokio runtime with the number of threads of `contender`.
pub(super) fn runtime(contender: Contender) -> Result<Runtime, Failure> {
    let mut builder = match contender.threads() {
        1 => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    Ok(builder
        .worker_threads(contender.threads())
        .enable_all()
        .build()?)
}

async fn turns<L: Library>(job: &Turns) -> Result<Vec<Vec<Record>>, Failure> {
    let access = Access {
        contender: job.contender,
        url: job.url.clone(),
        lease: LEASE,
        locks: job.tasks,
    };
    let library = L::connect(&access).await?;
    let body = Duration::from_micros(job.body_us);
    let locks: Vec<_> = (0..job.tasks)
        .map(|task| {
            let key = if job.one_key { 0 } else { task };
            library.lock(&format!("bench:{key}"), task)
        })
        .collect();
    let span = ready()?;
    let delay = span.start.saturating_sub(clock::now());
    tokio::time::sleep(Duration::from_nanos(delay)).await;
    let tasks: Vec<_> = locks
        .into_iter()
        .map(|lock| tokio::spawn(task(lock, span, body)))
        .collect();
    let mut records = Vec::with_capacity(tasks.len());
    for task in tasks {
        records.push(task.await??);
    }
    library.close().await;
    Ok(records)
}

async fn task<L: Lock>(mut lock: L, span: Span, body: Duration) -> Result<Vec<Record>, Failure> {
    let mut records = Vec::with_capacity(1024);
    for turn in 0.. {
        let asked = clock::now();
        if asked >= span.until {
            break;
        }
        let guard = lock.acquire(turn).await?;
        let entered = clock::now();
        if !body.is_zero() {
            tokio::time::sleep(body).await;
        }
        let left = clock::now();
        lock.release(guard).await?;
        records.push(Record {
            asked,
            entered,
            left,
            done: clock::now(),
            units: lock.units(turn),
        });
    }
    Ok(records)
}
