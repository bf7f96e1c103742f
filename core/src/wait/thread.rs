use std::io;
use std::sync::Arc;
use std::thread;

use super::{DeferredWakes, Promise};

/// Runs `work` on a new thread, because there may be no runtime; it goes on if the future is dropped. Fails, without
/// running it, if the system gives none.
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
