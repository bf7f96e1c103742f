//! [`Session`]: one TLS connection. The engine reads from it; the engine and the callers write to it.

use std::fmt;
use std::io::{self, ErrorKind, IoSlice, Read as _, Write as _};
use std::sync::Mutex;
use std::task::{Context, Poll, ready};

use auto_mutex_core::TlsError;
use auto_mutex_core::store::lock;
use rustls::ClientConnection;
use tokio::io::ReadBuf;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsConnector;

use super::super::socket::Socket;
use super::fault;
use super::trust::Trust;

pub(crate) struct Session {
    socket: Socket,
    state: Mutex<State>,
}

struct State {
    tls: ClientConnection,
    /// How many of the offered bytes are encrypted but not yet taken by the socket.
    owed: usize,
}

impl Session {
    /// Does the handshake.
    pub(in super::super) async fn begin(
        socket: Socket,
        (config, server): Trust,
        end: Instant,
    ) -> io::Result<Self> {
        let connector = TlsConnector::from(config);
        let shaken = timeout_at(end, connector.connect(server, socket)).await;
        let stream = match shaken {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => return Err(fault::of_handshake(error)),
            Err(_) => return Err(TlsError::NoAnswer.into_io()),
        };
        let (socket, tls) = stream.into_inner();
        let state = Mutex::new(State { tls, owed: 0 });
        Ok(Self { socket, state })
    }

    pub(in super::super) fn socket(&self) -> &Socket {
        &self.socket
    }

    pub(in super::super) fn poll_read(
        &self,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { socket, state } = self;
        loop {
            match lock(state).tls.reader().read(buffer.initialize_unfilled()) {
                Ok(count) => {
                    buffer.advance(count);
                    return Poll::Ready(Ok(()));
                }
                // The server closed the connection without the alert that TLS demands. This is accepted as a normal
                // end.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
            ready!(socket.poll_read_ready(cx))?;
            lock(state).receive(&mut Ends(socket), socket)?;
        }
    }

    /// Encrypts and writes. If the socket takes only a part of the encrypted bytes, returns `WouldBlock`. Then the caller
    /// must offer the same bytes again until they count as written.
    pub(in super::super) fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        let Self { socket, state } = self;
        let state = &mut *lock(state);
        if state.owed == 0 {
            state.owed = state.tls.writer().write(bytes)?;
        }
        match state.send(socket) {
            Ok(()) => Ok(std::mem::take(&mut state.owed)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Err(error),
            // A server that refuses the client may have sent the reason before it closed the connection.
            Err(error) => {
                // This reads from the raw socket, because the runtime may not know yet that the socket is readable.
                let heard = state.receive(&mut &*socket.raw(), socket);
                Err(heard.err().unwrap_or(error))
            }
        }
    }
}

impl State {
    /// Reads the available bytes from `from`, and decrypts them.
    fn receive(&mut self, from: &mut dyn io::Read, socket: &Socket) -> io::Result<()> {
        match self.tls.read_tls(from) {
            Ok(_) => {}
            Err(error) if is_for_later(&error) => return Ok(()),
            Err(error) => return Err(error),
        }
        let taken = self.tls.process_new_packets();
        // rustls may have produced alerts or a change of keys; these are sent now. If the socket does not take all of
        // their bytes, the next write sends the rest first.
        let _ = self.send(socket);
        match taken {
            Ok(_) => Ok(()),
            Err(error) => Err(fault::of(&error).into_io()),
        }
    }

    /// Sends the encrypted bytes.
    fn send(&mut self, socket: &Socket) -> io::Result<()> {
        while self.tls.wants_write() {
            match self.tls.write_tls(&mut Ends(socket)) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

fn is_for_later(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// Reads and writes the socket without blocking.
struct Ends<'a>(&'a Socket);

impl io::Read for Ends<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.try_read(buffer)
    }
}

impl io::Write for Ends<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_write(bytes)
    }

    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        self.0.try_write_vectored(parts)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Session").field(&self.socket).finish()
    }
}
