//! [`start`]: runs the program's code on separate threads. Each call of the dialer has one, which may block. All
//! streams of an engine share another one, with a runtime, which starts with the first call and ends with the engine.

use std::cell::RefCell;
use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::thread;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

/// The most calls that run at the same time. A dialer that never returns must not take a thread per attempt.
pub const MOST_CALLS: usize = 256;

struct Outside {
    handle: Handle,
    /// Each running call has a clone.
    calls: Arc<()>,
    _open: oneshot::Sender<Infallible>,
}

thread_local! {
    static OUTSIDE: RefCell<Option<Outside>> = const { RefCell::new(None) };
}

pub(super) fn start(call: impl Future<Output = ()> + Send + 'static) -> io::Result<()> {
    let (handle, running) = OUTSIDE.with_borrow_mut(|outside| {
        let outside = match outside {
            Some(outside) => outside,
            None => outside.insert(Outside::open()?),
        };
        io::Result::Ok((outside.handle.clone(), outside.calls.clone()))
    })?;
    if Arc::strong_count(&running) > MOST_CALLS + 1 {
        return Err(io::Error::other(
            "too many earlier calls of the dialer have not returned: it must not block forever",
        ));
    }
    let runtime = handle.clone();
    handle.spawn_blocking(move || {
        let _running = running;
        runtime.block_on(call);
    });
    Ok(())
}

impl Outside {
    fn open() -> io::Result<Self> {
        let mut runtime = Builder::new_current_thread();
        let runtime = runtime
            .enable_all()
            .thread_name("auto-mutex-dial")
            .build()?;
        let handle = runtime.handle().clone();
        let (open, closed) = oneshot::channel();
        let thread = thread::Builder::new().name("auto-mutex-dials".to_owned());
        thread.spawn(move || {
            let _ = runtime.block_on(closed);
            // Waits neither for calls nor for the program's `spawn_blocking` work.
            runtime.shutdown_background();
        })?;
        Ok(Self {
            handle,
            calls: Arc::default(),
            _open: open,
        })
    }
}
