//! [`Socket`]: a connection without TLS, by TCP or a socket file.

use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::Shutdown;
use std::task::{Context, Poll, ready};

use auto_mutex_core::store::socket::dial;
use redis::io::tcp::socket2::SockRef;
use tokio::io::Interest;
use tokio::net::TcpStream;

use super::super::limits::Limits;

/// Its methods do not wait, and any thread may call them.
#[derive(Debug)]
pub(crate) struct Socket(
    /// Also used for Unix sockets, which differ only in options that are set before.
    pub(super) TcpStream,
);

impl Socket {
    pub(super) async fn connect(host: &str, port: u16, limits: Limits) -> io::Result<Self> {
        let stream = Limits::step(limits.silence, 0, dial(host, port)).await?;
        Ok(Self(stream))
    }

    pub(super) fn poll_read(
        &self,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.0.poll_read_ready(cx))?;
            let mut short = None;
            let read = self.0.try_io(Interest::READABLE, || {
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
                read => return Poll::Ready(read),
            }
        }
    }

    pub(super) fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_write(bytes)
    }

    pub(super) fn poll_write_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.poll_write_ready(cx)
    }

    #[cfg(feature = "tls-no-provider")]
    pub(super) fn poll_read_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.poll_read_ready(cx)
    }

    /// The socket itself, independent of the runtime's readiness state.
    pub(super) fn raw(&self) -> SockRef<'_> {
        SockRef::from(&self.0)
    }

    /// Closes both directions, even if other threads still use the socket.
    pub(super) fn close(&self) {
        let _ = self.raw().shutdown(Shutdown::Both);
    }
}

impl Read for &Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.try_read(buffer)
    }
}

impl Write for &Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.try_write(bytes)
    }

    // In one write: if the server refused the first of several, its alert would be lost.
    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        self.0.try_write_vectored(parts)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
