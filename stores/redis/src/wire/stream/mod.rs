//! [`Stream`]: a connection by TCP or a socket file, perhaps with TLS. Only this folder knows the kinds of sockets.

#[cfg(feature = "tls-no-provider")]
mod tls;

use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::Shutdown;
#[cfg(feature = "tls-no-provider")]
use std::sync::Mutex;
use std::task::{Context, Poll, ready};

use auto_mutex_core::store::Address;
#[cfg(feature = "tls-no-provider")]
use auto_mutex_core::store::lock;
use auto_mutex_core::store::socket::{Tls, dial, local};
use redis::io::tcp::socket2::SockRef;
use tokio::io::Interest;
use tokio::net::TcpStream;

use super::limits::Limits;

/// A connection. One task reads from it; any thread may write.
pub(crate) struct Stream {
    socket: Socket,
    #[cfg(feature = "tls-no-provider")]
    tls: Option<Box<Mutex<tls::Session>>>,
}

impl Stream {
    pub(super) async fn open(
        address: &Address,
        tls: Option<&Tls>,
        limits: Limits,
    ) -> io::Result<Self> {
        let socket = match address {
            Address::Tcp { host, port } => match tls {
                None => Socket::connect(host, *port, limits).await?,
                #[cfg(feature = "tls-no-provider")]
                Some(tls) => return tls::open(host, *port, tls, limits).await,
                #[cfg(not(feature = "tls-no-provider"))]
                Some(_) => return Err(ErrorKind::Unsupported.into()),
            },
            Address::Unix(path) => Socket(local(path).await?),
        };
        Ok(Self {
            socket,
            #[cfg(feature = "tls-no-provider")]
            tls: None,
        })
    }

    pub(super) fn poll_read(
        &self,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        #[cfg(feature = "tls-no-provider")]
        if let Some(session) = &self.tls {
            return lock(session).poll_read(&self.socket, cx, buffer);
        }
        self.socket.poll_read(cx, buffer)
    }

    /// Adds the number of bytes that the socket took to `written`. The rest must be written next.
    pub(super) fn write(&self, bytes: &[u8], written: &mut usize) -> io::Result<()> {
        while *written < bytes.len() {
            match self.try_write(&bytes[*written..]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => *written += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        #[cfg(feature = "tls-no-provider")]
        if let Some(session) = &self.tls {
            return lock(session).try_write(&self.socket, bytes);
        }
        self.socket.0.try_write(bytes)
    }

    /// Closes both directions, even if other threads still use the socket.
    pub(crate) fn close(&self) {
        let _ = self.socket.raw().shutdown(Shutdown::Both);
    }

    pub(crate) fn poll_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.socket.0.poll_write_ready(cx)
    }
}

/// A connection without TLS. Its methods do not wait, and any thread may call them.
#[derive(Debug)]
struct Socket(
    /// Also used for Unix sockets, which differ only in options that are set before.
    TcpStream,
);

impl Socket {
    async fn connect(host: &str, port: u16, limits: Limits) -> io::Result<Self> {
        let stream = Limits::step(limits.silence, 0, dial(host, port)).await?;
        Ok(Self(stream))
    }

    fn poll_read(&self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
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

    /// The socket itself, independent of the runtime's readiness state.
    fn raw(&self) -> SockRef<'_> {
        SockRef::from(&self.0)
    }
}

impl Read for &Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.try_read(buffer)
    }
}

impl Write for &Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_write(bytes)
    }

    // In one write: if the server refused the first of several, its alert would be lost.
    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        self.0.try_write_vectored(parts)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
