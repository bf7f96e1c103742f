//! TLS, over a TCP connection.

#[cfg(repository)]
#[cfg(all(test, feature = "tls"))]
mod tests;

use std::future::{pending, poll_fn};
use std::io::{self, ErrorKind, Read, Write as _};
use std::sync::Mutex;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use auto_mutex_core::TlsError;
use auto_mutex_core::store::first;
use auto_mutex_core::store::socket::{Tls, Trust, fault, of_handshake, trust};
use rustls::ClientConnection;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::{Socket, Stream};
use crate::wire::Limits;

const BEFORE_GUESS: Duration = Duration::from_millis(500);
const PATIENCE: Duration = Duration::from_secs(2);

pub(super) async fn open(host: &str, port: u16, tls: &Tls, limits: Limits) -> io::Result<Stream> {
    // Check the files first, so that unusable ones are reported even if no server listens.
    let until = limits.at_most(limits.silence).end;
    let trust = trust(tls, host, until).await.map_err(TlsError::into_io)?;
    let socket = Socket::connect(host, port, limits).await?;
    // Client and server each send two flights, so a handshake gets more time.
    let end = limits.at_most(limits.silence.saturating_mul(2)).end;
    let handshake = Session::begin(&socket, trust, end);
    // A server without TLS may take the handshake for the start of a command, and wait for the rest.
    let guess = async {
        sleep(BEFORE_GUESS).await;
        match timeout(PATIENCE, speaks_plainly(host, port)).await {
            Ok(Ok(true)) => Err(TlsError::NotTls.into_io()),
            _ => pending().await,
        }
    };
    let session = first(handshake, guess).await?;
    Ok(Stream {
        socket,
        tls: Some(Box::new(Mutex::new(session))),
    })
}

/// Whether a server that did not understand the handshake speaks plain Redis.
async fn speaks_plainly(host: &str, port: u16) -> io::Result<bool> {
    let limits = Limits::new(PATIENCE, PATIENCE);
    let socket = Socket::connect(host, port, limits).await?;
    poll_fn(|cx| socket.0.poll_write_ready(cx)).await?;
    // Short enough for the buffer of a new socket.
    (&socket).write_all(b"PING\r\n")?;
    let mut answer = [0; 2];
    poll_fn(|cx| socket.poll_read(cx, &mut answer)).await?;
    Ok(matches!(answer, [b'+' | b'-', b'A'..=b'Z']))
}

/// The TLS of one connection. The background thread reads; that thread and the callers write.
pub(super) struct Session {
    tls: ClientConnection,
    /// How many of the offered bytes are encrypted, but not taken by the socket yet.
    owed: usize,
}

impl Session {
    async fn begin(socket: &Socket, (config, server): Trust, end: Instant) -> io::Result<Self> {
        let tls = ClientConnection::new(config, server);
        let tls = tls.map_err(|error| fault(&error).into_io())?;
        let mut session = Self { tls, owed: 0 };
        match timeout_at(end, poll_fn(|cx| session.poll_handshake(socket, cx))).await {
            Ok(Ok(())) => Ok(session),
            Ok(Err(error)) => Err(of_handshake(error)),
            Err(_) => Err(TlsError::NoAnswer.into_io()),
        }
    }

    fn poll_handshake(&mut self, socket: &Socket, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            match self.send(socket) {
                Ok(()) if !self.tls.is_handshaking() => return Poll::Ready(Ok(())),
                Ok(()) => {
                    ready!(socket.0.poll_read_ready(cx))?;
                    if !self.receive(&mut &*socket, socket)? {
                        return Poll::Ready(Err(ErrorKind::UnexpectedEof.into()));
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    ready!(socket.0.poll_write_ready(cx))?;
                }
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }

    pub(super) fn poll_read(
        &mut self,
        socket: &Socket,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            match self.tls.reader().read(buffer) {
                // Accept an end without the alert that TLS demands.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                    return Poll::Ready(Ok(0));
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                read => return Poll::Ready(read),
            }
            ready!(socket.0.poll_read_ready(cx))?;
            self.receive(&mut &*socket, socket)?;
        }
    }

    /// After `WouldBlock`, the caller must offer the same bytes again, because the socket may have taken a part of
    /// them, encrypted.
    pub(super) fn try_write(&mut self, socket: &Socket, bytes: &[u8]) -> io::Result<usize> {
        if self.owed == 0 {
            self.owed = self.tls.writer().write(bytes)?;
        }
        match self.send(socket) {
            Ok(()) => Ok(std::mem::take(&mut self.owed)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Err(error),
            // A server that refuses the client may have sent the reason before closing the connection.
            Err(error) => {
                // Reads from the raw socket, because the runtime may not know yet that it is readable.
                let heard = self.receive(&mut &*socket.raw(), socket);
                Err(heard.err().unwrap_or(error))
            }
        }
    }

    /// Returns `false` when there will be no more bytes.
    fn receive(&mut self, from: &mut dyn Read, socket: &Socket) -> io::Result<bool> {
        let count = match self.tls.read_tls(from) {
            Ok(count) => count,
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) =>
            {
                return Ok(true);
            }
            Err(error) => return Err(error),
        };
        let taken = self.tls.process_new_packets();
        // Sends alerts, or a change of keys. What the socket does not take, the next write sends first.
        let _ = self.send(socket);
        match taken {
            Ok(_) => Ok(count > 0),
            Err(error) => Err(fault(&error).into_io()),
        }
    }

    fn send(&mut self, mut socket: &Socket) -> io::Result<()> {
        while self.tls.wants_write() {
            match self.tls.write_tls(&mut socket) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
