//! [`Channel`]: a connection to a server, with or without TLS, that remembers the process id in the server's greeting.

#[cfg(feature = "tls-no-provider")]
mod fingerprint;
mod greeting;
#[cfg(feature = "tls-no-provider")]
mod tls;

use std::io;
use std::net::Shutdown;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::task::{Context, Poll, ready};

use auto_mutex_net::socket::{Stream, dial, local};
use auto_mutex_seam::TlsError;
use auto_mutex_seam::store::Address;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Instant;
use tokio_postgres::tls::{ChannelBinding, TlsConnect, TlsStream};

use self::greeting::Greeting;
#[cfg(feature = "tls-no-provider")]
pub(crate) use self::tls::verifier;
use crate::engine::{Postgres, TlsMode};

/// The request for TLS, before anything else is sent.
const TLS_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

pub(crate) struct Channel {
    stream: Stream,
    greeting: Option<Greeting>,
    /// The process id in the server's greeting, once it was read; before that, 0.
    pub(crate) pid: Arc<AtomicI32>,
    /// For the login: the fingerprint of the server's certificate.
    binding: Option<Vec<u8>>,
    pub(crate) is_secure: bool,
}

/// Connects to a server, and agrees on TLS with it.
pub(crate) async fn open(
    postgres: &Postgres,
    server: &Address,
    #[cfg_attr(not(feature = "tls-no-provider"), expect(unused_variables))] end: Instant,
) -> io::Result<Channel> {
    let (mut stream, mode) = match server {
        Address::Tcp { host, port } => (dial(host, *port).await?, postgres.tls_mode),
        Address::Unix(path) => (local(path).await?, TlsMode::Disable),
    };
    let tries = mode > TlsMode::Disable && cfg!(feature = "tls-no-provider");
    let is_secure = tries && has_tls(&mut stream).await?;
    if mode >= TlsMode::Require && !is_secure {
        let reason = "the server has no TLS: turn `ssl` on there, or leave out `sslmode`";
        let reason = reason.to_owned();
        return Err(TlsError::Handshake { reason }.into_io());
    }
    let (stream, binding) = match (is_secure, server) {
        #[cfg(feature = "tls-no-provider")]
        (true, Address::Tcp { host, .. }) => tls::open(&postgres.tls, host, stream, end).await?,
        _ => (Stream::plain(stream), None),
    };
    Ok(Channel {
        stream,
        greeting: Some(Greeting::default()),
        pid: Arc::default(),
        binding,
        is_secure,
    })
}

async fn has_tls(stream: &mut TcpStream) -> io::Result<bool> {
    stream.write_all(&TLS_REQUEST).await?;
    match stream.read_u8().await? {
        b'S' => Ok(true),
        b'N' => Ok(false),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

impl AsyncRead for Channel {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let count = ready!(self.stream.poll_read(cx, buffer.initialize_unfilled()))?;
        buffer.advance(count);
        if let Some(greeting) = &mut self.greeting
            && let Some(pid) = greeting.read(&buffer.filled()[before..])?
        {
            self.pid.store(pid, Ordering::Relaxed);
            self.greeting = None;
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Channel {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.stream.poll_ready(cx))?;
            match self.stream.try_write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                written => return Poll::Ready(written),
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.close(Shutdown::Write);
        Poll::Ready(Ok(()))
    }
}

impl TlsStream for Channel {
    fn channel_binding(&self) -> ChannelBinding {
        let binding = self.binding.clone();
        binding.map_or_else(ChannelBinding::none, ChannelBinding::tls_server_end_point)
    }
}

/// Tells the driver that TLS is there already.
pub(crate) struct Agreed;

impl TlsConnect<Channel> for Agreed {
    type Stream = Channel;
    type Error = io::Error;
    type Future = std::future::Ready<io::Result<Channel>>;

    fn connect(self, channel: Channel) -> Self::Future {
        std::future::ready(Ok(channel))
    }
}
