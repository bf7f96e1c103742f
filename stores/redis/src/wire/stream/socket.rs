//! [`Socket`]: a connection to a host and port, made by this library or by the program. TLS runs over it.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use auto_mutex_core::store::Dialer;
#[cfg(feature = "tls-no-provider")]
use redis::io::tcp::socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::timeout_at;

use super::super::limits::Limits;
use super::dial::dial;
use super::dialed::{self, Dialed};

/// The number of answers that a dialer may wait for: those of a proxy, a login and a handshake.
const DIALED_STEPS: u32 = 4;

#[derive(Debug)]
pub(crate) enum Socket {
    Tcp(TcpStream),
    Dialed(Dialed),
}

impl Socket {
    /// Connects, by the program's dialer if there is one.
    pub(super) async fn connect(
        host: &str,
        port: u16,
        dialer: Option<&Dialer>,
        limits: Limits,
    ) -> io::Result<Self> {
        match dialer {
            None => {
                let stream = Limits::step(limits.silence, 0, dial(host, port)).await?;
                Ok(Self::Tcp(stream))
            }
            Some(dialer) => {
                let limits = limits.at_most(limits.silence.saturating_mul(DIALED_STEPS));
                match timeout_at(limits.end, dialed::dial(dialer, host, port)).await {
                    Ok(dialed) => dialed.map(Self::Dialed),
                    Err(_) => Err(io::Error::new(
                        io::ErrorKind::TimedOut,
                        "the dialer has not connected in time",
                    )),
                }
            }
        }
    }
}

/// Methods for TLS: they do not wait, and any thread may call them.
#[cfg(feature = "tls-no-provider")]
impl Socket {
    pub(super) fn poll_read_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Tcp(stream) => stream.poll_read_ready(cx),
            Self::Dialed(dialed) => dialed.near.poll_read_ready(cx),
        }
    }

    pub(super) fn poll_write_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Tcp(stream) => stream.poll_write_ready(cx),
            Self::Dialed(dialed) => dialed.near.poll_write_ready(cx),
        }
    }

    pub(super) fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.try_read(buffer),
            Self::Dialed(dialed) => dialed.fault.explain(dialed.near.try_read(buffer)),
        }
    }

    pub(super) fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.try_write(bytes),
            Self::Dialed(dialed) => dialed.near.try_write(bytes),
        }
    }

    pub(super) fn try_write_vectored(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.try_write_vectored(parts),
            Self::Dialed(dialed) => dialed.near.try_write_vectored(parts),
        }
    }

    /// The socket itself, independent of the runtime's readiness state.
    pub(super) fn raw(&self) -> SockRef<'_> {
        match self {
            Self::Tcp(stream) => SockRef::from(stream),
            Self::Dialed(dialed) => SockRef::from(&dialed.near),
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_read(cx, buffer),
            Self::Dialed(Dialed { near, fault }) => dialed::poll_read(near, fault, cx, buffer),
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Dialed(dialed) => Pin::new(&mut dialed.near).poll_write(cx, bytes),
        }
    }

    // The parts must be sent in one write. If they were sent in several writes, and the server refused the first one, the
    // server's alert would be lost.
    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write_vectored(cx, parts),
            Self::Dialed(dialed) => Pin::new(&mut dialed.near).poll_write_vectored(cx, parts),
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_flush(cx),
            Self::Dialed(dialed) => Pin::new(&mut dialed.near).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Dialed(dialed) => Pin::new(&mut dialed.near).poll_shutdown(cx),
        }
    }
}
