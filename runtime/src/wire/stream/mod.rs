//! Sockets; only this folder knows their kinds.
//!
//! - `dial.rs`: TCP connections. `tls/`: encrypted ones. `guess.rs`: the protocol of a server that does not understand us.

mod dial;
mod guess;
#[cfg(feature = "tls")]
mod tls;

use std::io;
use std::net::Shutdown;
use std::pin::Pin;
#[cfg(feature = "tls")]
use std::pin::pin;
#[cfg(feature = "tls")]
use std::sync::Arc;
use std::task::{Context, Poll};
#[cfg(feature = "tls")]
use std::time::Duration;

use redis::io::tcp::socket2::SockRef;
use tokio::io::{AsyncRead as _, ReadBuf};
use tokio::net::{UnixStream, tcp, unix};
#[cfg(feature = "tls")]
use tokio::time::timeout;

use self::dial::dial;
use super::limits::Limits;
use crate::config::{Address, Tls};
#[cfg(feature = "tls")]
use crate::error::TlsError;

/// How long a handshake may take before a second connection probes the server's protocol.
#[cfg(feature = "tls")]
const BEFORE_GUESS: Duration = Duration::from_millis(500);

/// The reading half.
#[derive(Debug)]
pub(in super::super) enum Reading {
    Tcp(tcp::OwnedReadHalf),
    Unix(unix::OwnedReadHalf),
    #[cfg(feature = "tls")]
    Tls(Arc<tls::Session>),
}

/// The writing half. Dropping it closes both directions.
#[derive(Debug)]
pub(in super::super) enum Writing {
    Tcp(tcp::OwnedWriteHalf),
    Unix(unix::OwnedWriteHalf),
    #[cfg(feature = "tls")]
    Tls(Arc<tls::Session>),
}

/// Connects, within `limits`.
pub(in super::super) async fn open(
    address: &Address,
    tls: Option<&Tls>,
    limits: Limits,
) -> io::Result<(Reading, Writing)> {
    match address {
        Address::Tcp { host, port } => match tls {
            None => {
                let stream = Limits::step(limits.silence, 0, dial(host, *port)).await?;
                let (reading, writing) = stream.into_split();
                Ok((Reading::Tcp(reading), Writing::Tcp(writing)))
            }
            Some(tls) => secure(host, *port, tls, limits).await,
        },
        Address::Unix(path) => {
            let (reading, writing) = UnixStream::connect(path).await?.into_split();
            Ok((Reading::Unix(reading), Writing::Unix(writing)))
        }
    }
}

/// Whether a server that closed a plain connection uses TLS.
pub(in super::super) async fn speaks_tls(address: &Address) -> bool {
    match address {
        Address::Tcp { host, port } => guess::speaks_tls(host, *port).await,
        Address::Unix(_) => false,
    }
}

#[cfg(feature = "tls")]
async fn secure(
    host: &str,
    port: u16,
    tls: &Tls,
    limits: Limits,
) -> io::Result<(Reading, Writing)> {
    // Checked first, so that unusable files are reported even if no server listens.
    let trust = tls::trust(tls, host)?;
    let socket = Limits::step(limits.silence, 0, dial(host, port)).await?;
    // In a handshake, client and server each send two flights, so it gets more time.
    let end = limits.at_most(limits.silence.saturating_mul(2)).end;
    let mut handshake = pin!(tls::Session::begin(socket, trust, end));
    let session = match timeout(BEFORE_GUESS, &mut handshake).await {
        Ok(shaken) => shaken?,
        // A server without TLS may take the handshake for the beginning of a command, and wait for the rest.
        Err(_) if guess::speaks_plainly(host, port).await => {
            return Err(io::Error::new(io::ErrorKind::InvalidData, TlsError::NotTls));
        }
        Err(_) => handshake.await?,
    };
    let session = Arc::new(session);
    Ok((Reading::Tls(session.clone()), Writing::Tls(session)))
}

/// `store::open` rejects this case earlier.
#[cfg(not(feature = "tls"))]
#[expect(clippy::unused_async, reason = "as its twin")]
async fn secure(
    _host: &str,
    _port: u16,
    _tls: &Tls,
    _limits: Limits,
) -> io::Result<(Reading, Writing)> {
    Err(io::ErrorKind::Unsupported.into())
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
            #[cfg(feature = "tls")]
            Self::Tls(session) => session.poll_read(cx, &mut buffer),
        };
        read.map_ok(|()| buffer.filled().len())
    }
}

impl Writing {
    /// Writes as much as possible without blocking, from any thread. After `WouldBlock` or a partial write, the same
    /// bytes must be written next.
    pub(super) fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(half) => half.try_write(bytes),
            Self::Unix(half) => half.try_write(bytes),
            #[cfg(feature = "tls")]
            Self::Tls(session) => session.try_write(bytes),
        }
    }

    /// Closes both directions, even if others still have the socket.
    pub(in super::super) fn close(&self) {
        // An error means that the socket is already closed, and does not matter.
        let _ = match self {
            Self::Tcp(half) => SockRef::from(half.as_ref()).shutdown(Shutdown::Both),
            Self::Unix(half) => SockRef::from(half.as_ref()).shutdown(Shutdown::Both),
            #[cfg(feature = "tls")]
            Self::Tls(session) => SockRef::from(session.socket()).shutdown(Shutdown::Both),
        };
    }

    /// Whether the socket takes bytes again.
    pub(in super::super) fn poll_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Tcp(half) => half.as_ref().poll_write_ready(cx),
            Self::Unix(half) => half.as_ref().poll_write_ready(cx),
            #[cfg(feature = "tls")]
            Self::Tls(session) => session.socket().poll_write_ready(cx),
        }
    }
}
