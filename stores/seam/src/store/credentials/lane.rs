//! [`Lane`]: the thread that runs a provider, which may block or panic.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::thread;

use tokio::runtime::Builder;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::sync::oneshot;

use super::{CredentialsProvider, Granted, ServerAddress};
use crate::base::error::with_sources;
use crate::base::sync::atomic::{AtomicBool, Ordering};
use crate::base::wait::first;

/// Has a tokio runtime that keeps running between jobs, because a provider may leave connections open in it.
#[derive(Clone)]
pub(super) struct Lane {
    pub(super) jobs: UnboundedSender<Job>,
    /// Whether the thread is doing anything besides waiting for an event.
    pub(super) busy: Arc<AtomicBool>,
}

/// Dropped if the caller no longer waits. If the provider panics, no reply is sent.
pub(super) type Job = (ServerAddress, oneshot::Sender<Result<Granted, String>>);

impl Lane {
    pub(super) fn start(provider: Arc<impl CredentialsProvider>) -> io::Result<Self> {
        let (jobs, coming) = mpsc::unbounded_channel();
        let busy = Arc::new(AtomicBool::new(false));
        let of_thread = busy.clone();
        let thread = thread::Builder::new().name("auto-mutex-login".to_owned());
        thread.spawn(move || run(provider, coming, &of_thread))?;
        Ok(Self { jobs, busy })
    }
}

fn run(
    provider: Arc<impl CredentialsProvider>,
    mut coming: UnboundedReceiver<Job>,
    busy: &Arc<AtomicBool>,
) {
    let set = |is_busy: bool| {
        let busy = busy.clone();
        move || busy.store(is_busy, Ordering::Relaxed)
    };
    let mut builder = Builder::new_current_thread();
    builder
        .on_thread_park(set(false))
        .on_thread_unpark(set(true));
    let runtime = match builder.enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            while let Some((_, reply)) = coming.blocking_recv() {
                let _ = reply.send(Err(format!("has no runtime: {error}")));
            }
            return;
        }
    };
    busy.store(true, Ordering::Relaxed);
    runtime.block_on(async {
        while let Some(job) = coming.recv().await {
            // A panic of the provider ends only this task.
            tokio::spawn(answer(job, provider.clone()));
        }
    });
    // Does not wait for blocking work that the provider may have started.
    runtime.shutdown_background();
}

async fn answer((server, mut reply): Job, provider: Arc<impl CredentialsProvider>) {
    let mut changed = pin!(provider.changed());
    let asking = async {
        // Polled before the provider is asked, so that no later change is missed.
        let early = poll_fn(|cx| Poll::Ready(changed.as_mut().poll(cx).is_ready())).await;
        Some((early, provider.credentials(&server).await))
    };
    let given_up = async {
        reply.closed().await;
        None
    };
    let Some((early, asked)) = first(given_up, asking).await else {
        return;
    };
    let (mut recall, recalled) = oneshot::channel();
    let granted = match asked {
        Ok(credentials) => Granted::new(credentials, recalled),
        Err(error) => Err(format!("failed: {}", with_sources(&*error))),
    };
    if reply.send(granted).is_err() {
        return;
    }
    if !early {
        first(recall.closed(), changed).await;
    }
    let _ = recall.send(());
}
