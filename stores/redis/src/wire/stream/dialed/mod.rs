//! A connection that the program makes: `Config::dialer`.
//!
//! The program's code may block or panic, so neither an engine's thread nor a caller runs it. A socket pair connects
//! our code to a task on another thread (`outside.rs`). This task passes the bytes to the program's stream and back
//! (`pass.rs`). For the rest of the library, our end is a normal socket.

mod outside;
mod pass;
#[cfg(repository)]
#[cfg(test)]
mod tests;

use std::io::{self, ErrorKind};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::Mutex;
use std::task::{Context, Poll, ready};

use auto_mutex_core::store::{Dialer, lock};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::UnixStream;
use tokio::sync::oneshot;

use self::outside::Call;

/// Our end of a connection that the program has made.
#[derive(Debug)]
pub(crate) struct Dialed {
    pub(super) near: UnixStream,
    pub(super) fault: Fault,
}

/// Why the program's stream failed: a socket pair carries no errors.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fault(Arc<Mutex<Option<io::Error>>>);

/// Calls the program's dialer, and waits until it has connected.
pub(super) async fn dial(dialer: &Dialer, host: &str, port: u16) -> io::Result<Dialed> {
    let (near, far) = StdUnixStream::pair()?;
    near.set_nonblocking(true)?;
    far.set_nonblocking(true)?;
    let near = UnixStream::from_std(near)?;
    let fault = Fault::default();
    let (outcome, dialed) = oneshot::channel();
    outside::start(Call {
        dialer: dialer.clone(),
        host: host.to_owned(),
        port,
        far,
        fault: fault.clone(),
        outcome,
    })?;
    match dialed.await {
        Ok(Ok(())) => Ok(Dialed { near, fault }),
        Ok(Err(error)) => Err(error),
        Err(_) => Err(io::Error::other("the dialer panicked")),
    }
}

/// Reads from our end. At the end of the data, returns why the program's stream failed, if it did.
pub(super) fn poll_read(
    near: &mut (impl AsyncRead + Unpin),
    fault: &Fault,
    cx: &mut Context<'_>,
    buffer: &mut ReadBuf<'_>,
) -> Poll<io::Result<()>> {
    let before = buffer.filled().len();
    let read = ready!(Pin::new(near).poll_read(cx, buffer));
    let read = read.map(|()| buffer.filled().len() - before);
    Poll::Ready(fault.explain(read).map(drop))
}

impl Fault {
    fn set(&self, error: Option<io::Error>) {
        *lock(&self.0) = error;
    }

    /// Returns `read`, the result of a read from our end. If it shows the end of the data, and the program's stream failed,
    /// returns that failure instead.
    pub(super) fn explain(&self, read: io::Result<usize>) -> io::Result<usize> {
        let has_ended = match &read {
            Ok(count) => *count == 0,
            Err(error) => !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted),
        };
        match has_ended.then(|| lock(&self.0).take()).flatten() {
            Some(error) => Err(error),
            None => read,
        }
    }
}
