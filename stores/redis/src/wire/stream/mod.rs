//! Sockets; only this folder knows their kinds.

mod dial;
mod dialed;
mod guess;
mod socket;
#[cfg(feature = "tls-no-provider")]
mod tls;

#[cfg(feature = "tls-no-provider")]
use std::future::pending;
use std::io;
use std::task::{Context, Poll};
#[cfg(feature = "tls-no-provider")]
use std::time::Duration;

#[cfg(feature = "tls-no-provider")]
use auto_mutex_core::TlsError;
#[cfg(feature = "tls-no-provider")]
use auto_mutex_core::store::first;
use auto_mutex_core::store::{Address, Dialer};
use tokio::net::UnixStream;
#[cfg(feature = "tls-no-provider")]
use tokio::time::sleep;

pub(super) use self::guess::TLS_ALERT;
use self::socket::Socket;
use super::limits::Limits;
#[cfg(feature = "tls-no-provider")]
use crate::wire::Tls;
use crate::wire::Transport;

#[cfg(feature = "tls-no-provider")]
const BEFORE_GUESS: Duration = Duration::from_millis(500);

/// A connection. One task reads from it; any thread may write.
pub(crate) enum Stream {
    Plain(Socket),
    #[cfg(feature = "tls-no-provider")]
    Tls(Box<tls::Session>),
}

pub(crate) async fn speaks_tls(address: &Address, dialer: Option<&Dialer>) -> bool {
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
) -> io::Result<Stream> {
    // The files are checked first, so that unusable files are reported even if no server listens.
    let trust = tls::trust(tls, host).map_err(TlsError::into_io)?;
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
    let session = first(handshake, guess).await?;
    Ok(Stream::Tls(Box::new(session)))
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
                Some(tls) => return secure(host, *port, tls, dialer, limits).await,
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
