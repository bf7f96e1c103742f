//! [`Channel`]: a connection to a server, with or without TLS, that takes a note of the process id in the server's greeting.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use auto_mutex_core::TlsError;
use auto_mutex_core::store::{Address, DialedStream, Dialer};
use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::net::{TcpStream, lookup_host};
use tokio::task::JoinSet;
use tokio_postgres::tls::{ChannelBinding, TlsConnect, TlsStream};

use crate::engine::{Postgres, TlsMode};

/// The kernel's keepalive detects a dead peer while the connection's watchdog does not run.
const KEEPALIVE: Duration = Duration::from_secs(10);
/// Also ends connections whose peer does not read, such as a stalled server, so it equals the watchdog's longest wait.
#[cfg(any(target_os = "android", target_os = "linux"))]
const USER_TIMEOUT: Duration = Duration::from_secs(30);
/// The request for TLS, before anything else is sent.
const TLS_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

pub(crate) struct Channel {
    stream: Box<dyn DialedStream>,
    greeting: Option<Greeting>,
    pid: Arc<AtomicI32>,
    /// For the login: the fingerprint of the server's certificate.
    binding: Option<Vec<u8>>,
    is_secure: bool,
}

/// Connects to a server, and agrees on TLS with it.
pub(crate) async fn open(postgres: &Postgres, server: &Address) -> io::Result<Channel> {
    let mut stream = dial(server, postgres.dialer.as_ref()).await?;
    let wanted = match server {
        Address::Unix(_) => TlsMode::Disable,
        Address::Tcp { .. } => postgres.tls.mode,
    };
    let tries = wanted > TlsMode::Disable && cfg!(feature = "tls-no-provider");
    if tries && has_tls(&mut stream).await? {
        return secure(postgres, server, stream).await;
    }
    if wanted >= TlsMode::Require {
        let reason = "the server has no TLS: turn `ssl` on there, or leave out `sslmode`";
        let reason = reason.to_owned();
        return Err(TlsError::Handshake { reason }.into_io());
    }
    Ok(Channel::new(stream, None, false))
}

#[cfg(feature = "tls-no-provider")]
async fn secure(
    postgres: &Postgres,
    server: &Address,
    stream: Box<dyn DialedStream>,
) -> io::Result<Channel> {
    let Address::Tcp { host, .. } = server else {
        return Ok(Channel::new(stream, None, false));
    };
    let (stream, binding) = crate::tls::open(&postgres.tls, host, stream).await?;
    Ok(Channel::new(stream, binding, true))
}

#[cfg(not(feature = "tls-no-provider"))]
async fn secure(_: &Postgres, _: &Address, stream: Box<dyn DialedStream>) -> io::Result<Channel> {
    Ok(Channel::new(stream, None, false))
}

async fn has_tls(stream: &mut Box<dyn DialedStream>) -> io::Result<bool> {
    stream.write_all(&TLS_REQUEST).await?;
    stream.flush().await?;
    match stream.read_u8().await? {
        b'S' => Ok(true),
        b'N' => Ok(false),
        _ => Err(TlsError::NotTls.into_io()),
    }
}

async fn dial(server: &Address, dialer: Option<&Dialer>) -> io::Result<Box<dyn DialedStream>> {
    match (server, dialer) {
        (Address::Tcp { host, port }, None) => Ok(Box::new(dial_tcp(host, *port).await?)),
        (Address::Tcp { host, port }, Some(dialer)) => {
            let (dialer, host, port) = (dialer.clone(), host.clone(), *port);
            // A panic of the program's function ends only the task.
            let dialed = tokio::spawn(async move { dialer.dial(host, port).await });
            dialed
                .await
                .map_err(|_| io::Error::other("the dialer panicked"))?
        }
        #[cfg(unix)]
        (Address::Unix(path), _) => Ok(Box::new(tokio::net::UnixStream::connect(path).await?)),
        #[cfg(not(unix))]
        (Address::Unix(_), _) => Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "this system cannot open a socket file: use the TCP port of the server",
        )),
    }
}

async fn dial_tcp(host: &str, port: u16) -> io::Result<TcpStream> {
    let found = lookup_host((host, port)).await?;
    let stream = fastest(found).await?;
    stream.set_nodelay(true)?;
    let keepalive = TcpKeepalive::new()
        .with_time(KEEPALIVE)
        .with_interval(KEEPALIVE);
    let socket = SockRef::from(&stream);
    socket.set_tcp_keepalive(&keepalive)?;
    #[cfg(any(target_os = "android", target_os = "linux"))]
    socket.set_tcp_user_timeout(Some(USER_TIMEOUT))?;
    Ok(stream)
}

/// Connects to all addresses at once, because some may be dead. Returns the first connection.
async fn fastest(addresses: impl Iterator<Item = SocketAddr>) -> io::Result<TcpStream> {
    let mut attempts = JoinSet::new();
    for address in addresses {
        attempts.spawn(TcpStream::connect(address));
    }
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    while let Some(attempt) = attempts.join_next().await {
        match attempt {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => last = error,
            Err(error) => last = error.into(),
        }
    }
    Err(last)
}

impl Channel {
    fn new(stream: Box<dyn DialedStream>, binding: Option<Vec<u8>>, is_secure: bool) -> Self {
        Self {
            stream,
            greeting: Some(Greeting::default()),
            pid: Arc::default(),
            binding,
            is_secure,
        }
    }

    /// The process id in the server's greeting, once it was read; before that, 0.
    pub(crate) fn pid(&self) -> Arc<AtomicI32> {
        self.pid.clone()
    }

    pub(crate) fn is_secure(&self) -> bool {
        self.is_secure
    }
}

impl AsyncRead for Channel {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buffer))?;
        if let Some(greeting) = &mut self.greeting {
            let pid = greeting.read(&buffer.filled()[before..]);
            if let Some(pid) = pid {
                self.pid.store(pid, Ordering::Relaxed);
                self.greeting = None;
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Channel {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
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

/// Reads the messages of a login up to the one with the process id, which the driver keeps to itself.
#[derive(Default)]
struct Greeting {
    header: Vec<u8>,
    /// How many bytes of the message's body follow.
    rest: usize,
}

impl Greeting {
    fn read(&mut self, mut bytes: &[u8]) -> Option<i32> {
        const KEY: u8 = b'K';
        while let Some((first, after)) = bytes.split_first() {
            if self.rest > 0 {
                let skipped = self.rest.min(bytes.len());
                self.rest -= skipped;
                bytes = &bytes[skipped..];
                continue;
            }
            self.header.push(*first);
            bytes = after;
            match *self.header.as_slice() {
                [KEY, _, _, _, _, a, b, c, d] => return Some(i32::from_be_bytes([a, b, c, d])),
                [kind, a, b, c, d] if kind != KEY => {
                    let length = u32::from_be_bytes([a, b, c, d]) as usize;
                    self.rest = length.saturating_sub(4);
                    self.header.clear();
                }
                _ => {}
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_id_is_found_however_the_bytes_arrive() {
        let mut bytes = vec![b'R', 0, 0, 0, 8, 0, 0, 0, 0];
        bytes.extend(*b"S\0\0\0\x09a\0K\0\0");
        bytes.extend([b'K', 0, 0, 0, 12, 0, 0, 1, 2, 9, 9, 9, 9]);
        for size in 1..bytes.len() {
            let mut greeting = Greeting::default();
            let found = bytes.chunks(size).find_map(|chunk| greeting.read(chunk));
            assert_eq!(found, Some(258), "{size}");
        }
    }
}
