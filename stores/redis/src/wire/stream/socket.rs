//! [`Socket`]: a connection without TLS, made by this library or the program.

use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::{self, Shutdown};
use std::task::{Context, Poll, ready};

use auto_mutex_core::store::Dialer;
use auto_mutex_core::store::socket::{DIALED_STEPS, Fault, dial, dialed};
use redis::io::tcp::socket2::SockRef;
use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::time::timeout_at;

use super::super::limits::Limits;

/// Its methods do not wait, and any thread may call them.
#[derive(Debug)]
pub(crate) struct Socket {
    /// Also used for Unix sockets, which differ only in options that are set before.
    stream: TcpStream,
    fault: Option<Fault>,
}

impl Socket {
    /// `stream` must be in nonblocking mode.
    pub(super) fn new(stream: net::TcpStream, fault: Option<Fault>) -> io::Result<Self> {
        let stream = TcpStream::from_std(stream)?;
        Ok(Self { stream, fault })
    }

    pub(super) async fn connect(
        host: &str,
        port: u16,
        dialer: Option<&Dialer>,
        limits: Limits,
    ) -> io::Result<Self> {
        let Some(dialer) = dialer else {
            let stream = Limits::step(limits.silence, 0, dial(host, port)).await?;
            return Ok(Self {
                stream,
                fault: None,
            });
        };
        let limits = limits.at_most(limits.silence.saturating_mul(DIALED_STEPS));
        let dialed = timeout_at(limits.end, dialed(dialer, host, port)).await;
        let (near, fault) = dialed.map_err(|_| {
            io::Error::new(ErrorKind::TimedOut, "the dialer has not connected in time")
        })??;
        Self::new(near, Some(fault))
    }

    pub(super) fn poll_read(
        &self,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.stream.poll_read_ready(cx))?;
            let mut short = None;
            let read = self.stream.try_io(Interest::READABLE, || {
                let count = (&*self.raw()).read(buffer)?;
                if count > 0 && count < buffer.len() {
                    // A short read has emptied the socket. Telling tokio avoids another read to find out.
                    short = Some(count);
                    return Err(ErrorKind::WouldBlock.into());
                }
                Ok(count)
            });
            match short.map_or(read, Ok) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                read => return Poll::Ready(self.explained(read)),
            }
        }
    }

    pub(super) fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.try_write(bytes)
    }

    pub(super) fn poll_write_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.poll_write_ready(cx)
    }

    #[cfg(feature = "tls-no-provider")]
    pub(super) fn poll_read_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.poll_read_ready(cx)
    }

    /// The socket itself, independent of the runtime's readiness state.
    pub(super) fn raw(&self) -> SockRef<'_> {
        SockRef::from(&self.stream)
    }

    /// Closes both directions, even if other threads still use the socket.
    pub(super) fn close(&self) {
        let _ = self.raw().shutdown(Shutdown::Both);
    }

    fn explained(&self, read: io::Result<usize>) -> io::Result<usize> {
        match &self.fault {
            Some(fault) => fault.explain(read),
            None => read,
        }
    }
}

impl Read for &Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.explained(self.stream.try_read(buffer))
    }
}

impl Write for &Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.try_write(bytes)
    }

    // In one write: if the server refused the first of several, its alert would be lost.
    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        self.stream.try_write_vectored(parts)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
