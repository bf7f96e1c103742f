//! Sockets; only this folder knows their kinds.
//!
//! - `dial.rs`: our own TCP connections. `dialed/`: connections that the program makes. `socket.rs`: a connection of
//!   either kind.
//! - `tls/`: encrypted connections. `guess.rs`: the protocol of a server that does not understand the client.

mod dial;
mod dialed;
mod guess;
mod socket;
#[cfg(feature = "tls-no-provider")]
mod tls;

#[cfg(feature = "tls-no-provider")]
use std::future::pending;
use std::io;
use std::net::Shutdown;
use std::pin::Pin;
#[cfg(feature = "tls-no-provider")]
use std::sync::Arc;
use std::task::{Context, Poll};
#[cfg(feature = "tls-no-provider")]
use std::time::Duration;

#[cfg(feature = "tls-no-provider")]
use auto_mutex_core::TlsError;
#[cfg(feature = "tls-no-provider")]
use auto_mutex_core::store::first;
use auto_mutex_core::store::{Address, Dialer};
use redis::io::tcp::socket2::SockRef;
use tokio::io::{AsyncRead as _, ReadBuf};
use tokio::net::{UnixStream, tcp, unix};
#[cfg(feature = "tls-no-provider")]
use tokio::time::sleep;

use self::dialed::{Dialed, Fault};
pub(super) use self::guess::TLS_ALERT;
use self::socket::Socket;
use super::limits::Limits;
#[cfg(feature = "tls-no-provider")]
use crate::wire::Tls;
use crate::wire::Transport;

/// How long a handshake may take before a second connection probes the server's protocol.
#[cfg(feature = "tls-no-provider")]
const BEFORE_GUESS: Duration = Duration::from_millis(500);

/// The reading half.
#[derive(Debug)]
pub(in super::super) enum Reading {
    Tcp(tcp::OwnedReadHalf),
    Unix(unix::OwnedReadHalf),
    Dialed(unix::OwnedReadHalf, Fault),
    #[cfg(feature = "tls-no-provider")]
    Tls(Arc<tls::Session>),
}

/// The writing half. Dropping it shuts down a plain socket for writing. A TLS socket is closed when both halves are dropped.
#[derive(Debug)]
pub(in super::super) enum Writing {
    Tcp(tcp::OwnedWriteHalf),
    Unix(unix::OwnedWriteHalf),
    #[cfg(feature = "tls-no-provider")]
    Tls(Arc<tls::Session>),
}

/// Connects, within `limits`.
pub(in super::super) async fn open(
    address: &Address,
    transport: &Transport,
    limits: Limits,
) -> io::Result<(Reading, Writing)> {
    match address {
        Address::Tcp { host, port } => match &transport.tls {
            None => Ok(split(
                Socket::connect(host, *port, transport.dialer.as_ref(), limits).await?,
            )),
            #[cfg(feature = "tls-no-provider")]
            Some(tls) => secure(host, *port, tls, transport.dialer.as_ref(), limits).await,
            // The parser of URLs rejects this case earlier.
            #[cfg(not(feature = "tls-no-provider"))]
            Some(_) => Err(io::ErrorKind::Unsupported.into()),
        },
        Address::Unix(path) => {
            let (reading, writing) = UnixStream::connect(path).await?.into_split();
            Ok((Reading::Unix(reading), Writing::Unix(writing)))
        }
    }
}

fn split(socket: Socket) -> (Reading, Writing) {
    match socket {
        Socket::Tcp(stream) => {
            let (reading, writing) = stream.into_split();
            (Reading::Tcp(reading), Writing::Tcp(writing))
        }
        Socket::Dialed(Dialed { near, fault }) => {
            let (reading, writing) = near.into_split();
            (Reading::Dialed(reading, fault), Writing::Unix(writing))
        }
    }
}

/// Whether a server that closed a plain connection uses TLS.
pub(in super::super) async fn speaks_tls(address: &Address, dialer: Option<&Dialer>) -> bool {
    match address {
        Address::Tcp { host, port } => guess::speaks_tls(host, *port, dialer).await,
        Address::Unix(_) => false,
    }
}

#[cfg(feature = "tls-no-provider")]
async fn secure(
    host: &str,
    port: u16,
    tls: &Tls,
    dialer: Option<&Dialer>,
    limits: Limits,
) -> io::Result<(Reading, Writing)> {
    // The files are checked first, so that unusable files are reported even if no server listens.
    let trust = tls::trust(tls, host)?;
    let socket = Socket::connect(host, port, dialer, limits).await?;
    // In a handshake, client and server each send two flights, so the handshake gets more time.
    let end = limits.at_most(limits.silence.saturating_mul(2)).end;
    let handshake = tls::Session::begin(socket, trust, end);
    // A server without TLS may treat the handshake as the beginning of a command, and wait for the rest of it.
    let guess = async {
        sleep(BEFORE_GUESS).await;
        match guess::speaks_plainly(host, port, dialer).await {
            true => Err(TlsError::NotTls.into_io()),
            false => pending().await,
        }
    };
    let session = Arc::new(first(handshake, guess).await?);
    Ok((Reading::Tls(session.clone()), Writing::Tls(session)))
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
            Self::Dialed(half, fault) => dialed::poll_read(half, fault, cx, &mut buffer),
            #[cfg(feature = "tls-no-provider")]
            Self::Tls(session) => session.poll_read(cx, &mut buffer),
        };
        read.map_ok(|()| buffer.filled().len())
    }
}

impl Writing {
    /// Writes as much of `bytes` as the socket takes without blocking. Begins at index `written`, and adds the number of
    /// bytes that the socket took to `written`. The rest must be written next. After an error, the socket is unusable. Any
    /// thread may call this.
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

    /// Writes a part of `bytes`. The bytes that the socket did not take must be written next.
    fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(half) => half.try_write(bytes),
            Self::Unix(half) => half.try_write(bytes),
            #[cfg(feature = "tls-no-provider")]
            Self::Tls(session) => session.try_write(bytes),
        }
    }

    /// Closes both directions, even if other threads still use the socket.
    pub(in super::super) fn close(&self) {
        // An error means that the socket is already closed, and does not matter.
        let _ = match self {
            Self::Tcp(half) => SockRef::from(half.as_ref()).shutdown(Shutdown::Both),
            Self::Unix(half) => SockRef::from(half.as_ref()).shutdown(Shutdown::Both),
            #[cfg(feature = "tls-no-provider")]
            Self::Tls(session) => session.socket().raw().shutdown(Shutdown::Both),
        };
    }

    /// Ready when the socket takes bytes again.
    pub(in super::super) fn poll_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Tcp(half) => half.as_ref().poll_write_ready(cx),
            Self::Unix(half) => half.as_ref().poll_write_ready(cx),
            #[cfg(feature = "tls-no-provider")]
            Self::Tls(session) => session.socket().poll_write_ready(cx),
        }
    }
}
