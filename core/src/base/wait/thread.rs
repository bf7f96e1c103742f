use std::sync::Arc;
use std::{io, thread};

use super::{DeferredWakes, Promise};

pub(crate) fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let builder = thread::Builder::new().name(name.to_owned());
    builder.spawn(run).map(drop)
}

/// Runs `work` on a new thread, because there may be no runtime; it goes on if the future is dropped. Fails, without
/// running it, if the system gives none.
pub(crate) async fn on_thread<T: Send + 'static>(
    name: &'static str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    let done = Arc::new(Promise::new());
    let signal = done.clone();
    spawn(name, move || {
        let mut wakes = DeferredWakes::default();
        let _ = signal.complete(work(), &mut wakes);
        wakes.wake();
    })?;
    Ok(done.wait().await)
}
