//! Sockets: the one place that knows which kinds there are.

use std::future::{Future as _, poll_fn};
use std::io;
use std::net::{Shutdown, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use redis::io::tcp::socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead as _, ReadBuf};
use tokio::net::{TcpStream, UnixStream, lookup_host, tcp, unix};

use crate::config::Address;

/// A dead peer is noticed by the watchdog of a link; these help where it cannot look: in the kernel.
const KEEPALIVE: Duration = Duration::from_secs(10);
const USER_TIMEOUT: Duration = Duration::from_secs(5);

/// Where bytes come from.
#[derive(Debug)]
pub(in super::super) enum Reading {
    Tcp(tcp::OwnedReadHalf),
    Unix(unix::OwnedReadHalf),
}

/// Where bytes go to. Closed for both ends when it is dropped.
#[derive(Debug)]
pub(in super::super) enum Writing {
    Tcp(tcp::OwnedWriteHalf),
    Unix(unix::OwnedWriteHalf),
}

/// Connects.
pub(in super::super) async fn open(address: &Address) -> io::Result<(Reading, Writing)> {
    match address {
        Address::Tcp { host, port } => {
            let found = lookup_host((host.as_str(), *port)).await?;
            let stream = fastest(found).await?;
            stream.set_nodelay(true)?;
            let keepalive = TcpKeepalive::new()
                .with_time(KEEPALIVE)
                .with_interval(KEEPALIVE);
            let socket = SockRef::from(&stream);
            socket.set_tcp_keepalive(&keepalive)?;
            #[cfg(any(target_os = "android", target_os = "linux"))]
            socket.set_tcp_user_timeout(Some(USER_TIMEOUT))?;
            let (reading, writing) = stream.into_split();
            Ok((Reading::Tcp(reading), Writing::Tcp(writing)))
        }
        Address::Unix(path) => {
            let (reading, writing) = UnixStream::connect(path).await?.into_split();
            Ok((Reading::Unix(reading), Writing::Unix(writing)))
        }
    }
}

/// Of several addresses the one that answers first; a host may have some that nobody listens on.
async fn fastest(addresses: impl Iterator<Item = SocketAddr>) -> io::Result<TcpStream> {
    let mut attempts: Vec<_> = addresses
        .map(|address| Box::pin(TcpStream::connect(address)))
        .collect();
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    poll_fn(move |cx| {
        let mut index = 0;
        while let Some(attempt) = attempts.get_mut(index) {
            match attempt.as_mut().poll(cx) {
                Poll::Ready(Ok(stream)) => return Poll::Ready(Ok(stream)),
                Poll::Ready(Err(error)) => {
                    drop(attempts.swap_remove(index));
                    last = error;
                }
                Poll::Pending => index += 1,
            }
        }
        if attempts.is_empty() {
            let last = std::mem::replace(&mut last, io::ErrorKind::AddrNotAvailable.into());
            return Poll::Ready(Err(last));
        }
        Poll::Pending
    })
    .await
}

impl Reading {
    pub(super) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let mut buffer = ReadBuf::new(buffer);
        let read = match self {
            Self::Tcp(half) => Pin::new(half).poll_read(cx, &mut buffer),
            Self::Unix(half) => Pin::new(half).poll_read(cx, &mut buffer),
        };
        read.map_ok(|()| buffer.filled().len())
    }
}

impl Writing {
    /// Writes what can be written at once, on any thread. (A kind of socket that only its engine can write to
    /// says `WouldBlock` here.)
    pub(super) fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(half) => half.try_write(bytes),
            Self::Unix(half) => half.try_write(bytes),
        }
    }

    /// Nobody reads or writes any more, whoever still has it.
    pub(in super::super) fn close(&self) {
        // It fails where it is closed already.
        let _ = match self {
            Self::Tcp(half) => SockRef::from(half.as_ref()).shutdown(Shutdown::Both),
            Self::Unix(half) => SockRef::from(half.as_ref()).shutdown(Shutdown::Both),
        };
    }

    /// Whether there is room again.
    pub(in super::super) fn poll_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Tcp(half) => half.as_ref().poll_write_ready(cx),
            Self::Unix(half) => half.as_ref().poll_write_ready(cx),
        }
    }
}
