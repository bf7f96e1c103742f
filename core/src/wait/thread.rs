//! [`on_thread`]: blocking work, awaited without a runtime.

use std::io;
use std::sync::Arc;
use std::thread;

use super::{DeferredWakes, Promise};

/// Runs `work` on a new thread, because there may be no runtime, and returns its output. If the future is dropped, the
/// thread continues. Fails if the system gives no new thread; then `work` has not run.
pub(crate) async fn on_thread<T: Send + 'static>(
    name: &'static str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    let done = Arc::new(Promise::new());
    let signal = done.clone();
    thread::Builder::new()
        .name(name.to_owned())
        .spawn(move || {
            let mut wakes = DeferredWakes::default();
            let _ = signal.complete(work(), &mut wakes);
            wakes.wake();
        })?;
    Ok(done.wait().await)
}
