//! [`Session`]: the TLS of one connection.

use std::future::poll_fn;
use std::io::{self, ErrorKind, Read, Write as _};
use std::task::{Context, Poll, ready};

use rustls::ClientConnection;

use super::super::stream::Socket;
use super::{Trust, fault, of_handshake};

/// The TLS of one connection. The background thread reads; that thread and the callers write.
pub(crate) struct Session {
    tls: ClientConnection,
    /// How many of the offered bytes are encrypted, but not taken by the socket yet.
    owed: usize,
}

impl Session {
    pub(crate) async fn begin(socket: &Socket, (config, server): Trust) -> io::Result<Self> {
        let tls = ClientConnection::new(config, server);
        let tls = tls.map_err(|error| fault(&error).into_io())?;
        let mut session = Self { tls, owed: 0 };
        let done = poll_fn(|cx| session.poll_handshake(socket, cx)).await;
        done.map_err(of_handshake).map(|()| session)
    }

    pub(crate) fn certificate(&self) -> Option<Vec<u8>> {
        Some(self.tls.peer_certificates()?.first()?.to_vec())
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

    pub(crate) fn poll_read(
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
    pub(crate) fn try_write(&mut self, socket: &Socket, bytes: &[u8]) -> io::Result<usize> {
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
