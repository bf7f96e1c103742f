//! Sockets. Only this folder knows their kinds.

mod socket;
#[cfg(feature = "tls-no-provider")]
mod tls;

use std::io;
#[cfg(feature = "tls-no-provider")]
use std::sync::Mutex;
use std::task::{Context, Poll};

use self::socket::Socket;
use super::limits::Limits;
use auto_mutex_core::store::Address;
#[cfg(feature = "tls-no-provider")]
use auto_mutex_core::store::lock;
use auto_mutex_core::store::socket::{Tls, local};

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
                Some(_) => return Err(io::ErrorKind::Unsupported.into()),
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
        #[cfg(feature = "tls-no-provider")]
        if let Some(session) = &self.tls {
            return lock(session).try_write(&self.socket, bytes);
        }
        self.socket.try_write(bytes)
    }

    pub(crate) fn close(&self) {
        self.socket.close();
    }

    pub(crate) fn poll_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.socket.poll_write_ready(cx)
    }
}
