//! [`Worker`]: the thread on which a reader runs. The thread has a runtime of its own, because a caller inside a
//! runtime must not block on another one.

use std::sync::mpsc;
use std::thread;

use auto_mutex_core::SetupError;
use auto_mutex_core::store::Reader;
use tokio::runtime::{Builder, Runtime};

type Job = Box<dyn FnOnce(&Runtime, &mut dyn Reader) + Send>;

/// Runs jobs one after the other, until it is dropped.
pub(super) struct Worker(mpsc::Sender<Job>);

impl Worker {
    pub(super) fn start(mut reader: Box<dyn Reader>) -> Result<Self, SetupError> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(SetupError::engine)?;
        let (sender, jobs) = mpsc::channel::<Job>();
        thread::Builder::new()
            .name("auto-mutex-operator".to_owned())
            .spawn(move || {
                for job in jobs {
                    job(&runtime, &mut *reader);
                }
            })
            .map_err(SetupError::engine)?;
        Ok(Self(sender))
    }

    /// Runs `job` on the thread, and returns its output.
    pub(super) fn run<T: Send + 'static>(
        &self,
        job: impl AsyncFnOnce(&mut dyn Reader) -> T + Send + 'static,
    ) -> Result<T, SetupError> {
        let (sender, result) = mpsc::sync_channel(1);
        let sent = self.0.send(Box::new(move |runtime, reader| {
            // `send` fails only if the caller no longer exists.
            let _ = sender.send(runtime.block_on(job(reader)));
        }));
        let ended = || SetupError::engine("it has ended");
        sent.map_err(|_| ended())?;
        result.recv().map_err(|_| ended())
    }
}
