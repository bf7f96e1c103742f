//! [`start`]: runs the program's code on threads of its own.
//!
//! Each call of the dialer has a thread of its own, which may block. All streams of an engine share one more thread, with
//! a runtime. That thread starts with the first call, and ends with the engine.

use std::cell::RefCell;
use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::thread;

use auto_mutex_core::store::{DialedStream, Dialer};
use tokio::net::UnixStream;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use super::Fault;
use super::pass::pass;

/// How many calls may run at the same time. A dialer that blocks for ever must not take a thread for each attempt.
pub(super) const MOST_CALLS: usize = 256;

/// A call of the dialer.
pub(super) struct Call {
    pub(super) dialer: Dialer,
    pub(super) host: String,
    pub(super) port: u16,
    /// The end of the socket pair that belongs to the program's stream.
    pub(super) far: StdUnixStream,
    pub(super) fault: Fault,
    /// When the receiver of this channel is dropped, no caller waits for the outcome any more.
    pub(super) outcome: oneshot::Sender<io::Result<()>>,
}

/// The thread for the streams.
struct Outside {
    handle: Handle,
    calls: Arc<AtomicUsize>,
    /// Ends the thread when this sender is dropped.
    _open: oneshot::Sender<Infallible>,
}

thread_local! {
    static OUTSIDE: RefCell<Option<Outside>> = const { RefCell::new(None) };
}

/// Starts the call.
pub(super) fn start(call: Call) -> io::Result<()> {
    let (handle, running) = OUTSIDE.with_borrow_mut(|outside| {
        let outside = match outside {
            Some(outside) => outside,
            None => outside.insert(Outside::open()?),
        };
        io::Result::Ok((outside.handle.clone(), Running::one_more(&outside.calls)?))
    })?;
    let thread = thread::Builder::new().name("auto-mutex-dial".to_owned());
    thread.spawn(move || {
        let _running = running;
        call.run(&handle);
    })?;
    Ok(())
}

impl Outside {
    fn open() -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (open, closed) = oneshot::channel();
        let thread = thread::Builder::new().name("auto-mutex-dials".to_owned());
        thread.spawn(move || {
            let _ = runtime.block_on(closed);
            // This does not wait for work that the program runs by `spawn_blocking`.
            runtime.shutdown_background();
        })?;
        Ok(Self {
            handle,
            calls: Arc::default(),
            _open: open,
        })
    }
}

/// Counts a call as running until this value is dropped.
struct Running(Arc<AtomicUsize>);

impl Running {
    fn one_more(calls: &Arc<AtomicUsize>) -> io::Result<Self> {
        if calls.fetch_add(1, Ordering::Relaxed) >= MOST_CALLS {
            calls.fetch_sub(1, Ordering::Relaxed);
            return Err(io::Error::other(
                "too many earlier calls of the dialer have not returned: it must not block for ever",
            ));
        }
        Ok(Self(calls.clone()))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Call {
    /// Runs the dialer on this thread. A panic of the dialer ends the thread, and drops `outcome`.
    fn run(mut self, handle: &Handle) {
        let dialer = self.dialer.clone();
        let (host, port) = (std::mem::take(&mut self.host), self.port);
        let dialed = handle.block_on(async {
            let mut dialing = pin!(async move { dialer.dial(host, port).await });
            poll_fn(|cx| match self.outcome.poll_closed(cx) {
                Poll::Ready(()) => Poll::Ready(None),
                Poll::Pending => dialing.as_mut().poll(cx).map(Some),
            })
            .await
        });
        let outcome = match dialed {
            None => return,
            Some(Ok(stream)) => attach(handle, stream, self.far, self.fault),
            Some(Err(error)) => Err(error),
        };
        let _ = self.outcome.send(outcome);
    }
}

/// Passes the stream to the thread for the streams.
fn attach(
    handle: &Handle,
    stream: Box<dyn DialedStream>,
    far: StdUnixStream,
    fault: Fault,
) -> io::Result<()> {
    let _entered = handle.enter();
    let far = UnixStream::from_std(far)?;
    handle.spawn(pass(stream, far, fault));
    Ok(())
}
