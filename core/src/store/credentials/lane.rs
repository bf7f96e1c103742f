//! [`Lane`]: the thread that runs a provider, which may block or panic.

use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::task::Poll;
use std::thread;

use tokio::runtime::Builder;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::sync::oneshot;

use super::provider::Erased;
use super::{Granted, ServerAddress};
use crate::base::error::with_sources;
use crate::base::sync::atomic::{AtomicBool, Ordering};

/// A handle of a tokio runtime, which also runs between jobs: a provider may leave open connections in it.
#[derive(Clone)]
pub(super) struct Lane {
    pub(super) jobs: UnboundedSender<Job>,
    pub(super) busy: Arc<AtomicBool>,
}

/// Dropped if its caller no longer waits for the reply. If the provider panics, no reply is sent.
pub(super) type Job = (ServerAddress, oneshot::Sender<Result<Granted, String>>);

impl Lane {
    pub(super) fn start(provider: Arc<dyn Erased>) -> io::Result<Self> {
        let (jobs, coming) = mpsc::unbounded_channel();
        let busy = Arc::new(AtomicBool::new(false));
        let lane = Self {
            jobs,
            busy: busy.clone(),
        };
        let thread = thread::Builder::new().name("auto-mutex-login".to_owned());
        thread.spawn(move || run(provider, coming, &busy))?;
        Ok(lane)
    }
}

fn run(provider: Arc<dyn Erased>, mut coming: UnboundedReceiver<Job>, busy: &Arc<AtomicBool>) {
    let runtime = match Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            while let Some((_, reply)) = coming.blocking_recv() {
                let _ = reply.send(Err(format!("has no runtime: {error}")));
            }
            return;
        }
    };
    runtime.block_on(async {
        while let Some(job) = coming.recv().await {
            // A panic of the provider ends only this task.
            tokio::spawn(answer(job, provider.clone(), busy.clone()));
        }
    });
    // Does not wait for blocking work that the provider may have started.
    runtime.shutdown_background();
}

async fn answer((server, mut reply): Job, provider: Arc<dyn Erased>, busy: Arc<AtomicBool>) {
    let mut changed = {
        let _inside = Inside::new(&busy);
        provider.changed()
    };
    let (early, asked) = {
        let mut asking = None;
        let asked = poll_fn(|cx| {
            if reply.poll_closed(cx).is_ready() {
                return Poll::Ready(None);
            }
            let _inside = Inside::new(&busy);
            let (_, asking) = asking.get_or_insert_with(|| {
                let early = changed.as_mut().poll(cx).is_ready();
                (early, provider.credentials(&server))
            });
            asking.as_mut().poll(cx).map(Some)
        })
        .await;
        let Some(asked) = asked else {
            return;
        };
        (asking.is_some_and(|(early, _)| early), asked)
    };
    let (mut recall, recalled) = oneshot::channel();
    let granted = match asked {
        Ok(credentials) => Granted::new(credentials, recalled),
        Err(error) => Err(format!("failed: {}", with_sources(&*error))),
    };
    if reply.send(granted).is_err() {
        return;
    }
    let wanted = early
        || poll_fn(|cx| {
            if recall.poll_closed(cx).is_ready() {
                return Poll::Ready(false);
            }
            let _inside = Inside::new(&busy);
            changed.as_mut().poll(cx).map(|()| true)
        })
        .await;
    if wanted {
        let _ = recall.send(());
    }
}

struct Inside<'a>(&'a AtomicBool);

impl<'a> Inside<'a> {
    fn new(busy: &'a AtomicBool) -> Self {
        busy.store(true, Ordering::Relaxed);
        Self(busy)
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}
