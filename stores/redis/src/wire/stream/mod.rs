//! Sockets; only this folder knows their kinds.

mod dial;
mod dialed;
mod socket;
#[cfg(feature = "tls-no-provider")]
mod tls;

use std::io;
use std::task::{Context, Poll};

use auto_mutex_core::store::Address;
use tokio::net::UnixStream;

use self::socket::Socket;
use super::limits::Limits;
use crate::wire::Transport;

/// A connection. One task reads from it; any thread may write.
pub(crate) enum Stream {
    Plain(Socket),
    #[cfg(feature = "tls-no-provider")]
    Tls(Box<tls::Session>),
}

impl Stream {
    pub(super) async fn open(
        address: &Address,
        transport: &Transport,
        limits: Limits,
    ) -> io::Result<Self> {
        let dialer = transport.dialer.as_ref();
        let socket = match address {
            Address::Tcp { host, port } => match &transport.tls {
                None => Socket::connect(host, *port, dialer, limits).await,
                #[cfg(feature = "tls-no-provider")]
                Some(tls) => {
                    let session = tls::open(host, *port, tls, dialer, limits).await?;
                    return Ok(Self::Tls(Box::new(session)));
                }
                #[cfg(not(feature = "tls-no-provider"))]
                Some(_) => Err(io::ErrorKind::Unsupported.into()),
            },
            Address::Unix(path) => Socket::new(UnixStream::connect(path).await?.into_std()?, None),
        };
        socket.map(Self::Plain)
    }

    fn socket(&self) -> &Socket {
        match self {
            Self::Plain(socket) => socket,
            #[cfg(feature = "tls-no-provider")]
            Self::Tls(session) => session.socket(),
        }
    }

    pub(super) fn poll_read(
        &self,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        match self {
            Self::Plain(socket) => socket.poll_read(cx, buffer),
            #[cfg(feature = "tls-no-provider")]
            Self::Tls(session) => session.poll_read(cx, buffer),
        }
    }

    /// Adds the number of bytes that the socket took to `written`. The rest must be written next.
    pub(super) fn write(&self, bytes: &[u8], written: &mut usize) -> io::Result<()> {
        while *written < bytes.len() {
            match self.try_write(&bytes[*written..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => *written += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.try_write(bytes),
            #[cfg(feature = "tls-no-provider")]
            Self::Tls(session) => session.try_write(bytes),
        }
    }

    pub(crate) fn close(&self) {
        self.socket().close();
    }

    pub(crate) fn poll_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.socket().poll_write_ready(cx)
    }
}
