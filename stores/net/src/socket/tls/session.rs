//! [`Session`]: the TLS of one connection.

use std::future::poll_fn;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::task::{Context, Poll, ready};

use rustls::ClientConnection;
use socket2::SockRef;
use tokio::io::Interest;
use tokio::net::TcpStream;

use super::{Trust, fault, of_handshake};

/// The TLS of one connection. The background thread reads; that thread and the callers write.
pub(crate) struct Session {
    tls: ClientConnection,
    /// How many of the offered bytes are encrypted, but not taken by the socket yet.
    owed: usize,
}

impl Session {
    pub(crate) async fn begin(socket: &TcpStream, (config, server): Trust) -> io::Result<Self> {
        let tls = ClientConnection::new(config, server);
        let tls = tls.map_err(|error| fault(&error).into_io())?;
        let mut session = Self { tls, owed: 0 };
        let done = poll_fn(|cx| session.poll_handshake(socket, cx)).await;
        done.map_err(of_handshake).map(|()| session)
    }

    pub(crate) fn certificate(&self) -> Option<Vec<u8>> {
        Some(self.tls.peer_certificates()?.first()?.to_vec())
    }

    fn poll_handshake(&mut self, socket: &TcpStream, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            match self.send(socket) {
                Ok(()) if !self.tls.is_handshaking() => return Poll::Ready(Ok(())),
                Ok(()) => {
                    ready!(socket.poll_read_ready(cx))?;
                    if !self.receive(socket)? {
                        return Poll::Ready(Err(ErrorKind::UnexpectedEof.into()));
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    ready!(socket.poll_write_ready(cx))?;
                }
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }

    pub(crate) fn poll_read(
        &mut self,
        socket: &TcpStream,
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
            ready!(socket.poll_read_ready(cx))?;
            self.receive(socket)?;
        }
    }

    /// After `WouldBlock`, the caller must offer the same bytes again, because the socket may have taken a part of
    /// them, encrypted.
    pub(crate) fn try_write(&mut self, socket: &TcpStream, bytes: &[u8]) -> io::Result<usize> {
        if self.owed == 0 {
            self.owed = self.tls.writer().write(bytes)?;
        }
        match self.send(socket) {
            Ok(()) => Ok(std::mem::take(&mut self.owed)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Err(error),
            // A server that refuses the client may have sent the reason before closing the connection.
            Err(error) => {
                // Reads whatever the runtime says, because it may not know yet that the socket is readable.
                let read = self.tls.read_tls(&mut &*SockRef::from(socket));
                let heard = self.received(read, socket);
                Err(heard.err().unwrap_or(error))
            }
        }
    }

    /// Returns `false` when there will be no more bytes.
    fn receive(&mut self, socket: &TcpStream) -> io::Result<bool> {
        let read = || self.tls.read_tls(&mut &*SockRef::from(socket));
        let read = socket.try_io(Interest::READABLE, read);
        self.received(read, socket)
    }

    fn received(&mut self, read: io::Result<usize>, socket: &TcpStream) -> io::Result<bool> {
        let count = match read {
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

    fn send(&mut self, socket: &TcpStream) -> io::Result<()> {
        while self.tls.wants_write() {
            // In one write: if the server refused the first of several, its alert would be lost.
            let write = || self.tls.write_tls(&mut &*SockRef::from(socket));
            match socket.try_io(Interest::WRITABLE, write) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
