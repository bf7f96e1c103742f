//! [`Session`]: one TLS connection. The engine reads from it; the engine and the callers write to it.

use std::future::poll_fn;
use std::io::{self, ErrorKind, Read, Write as _};
use std::sync::Mutex;
use std::task::{Context, Poll, ready};

use auto_mutex_core::TlsError;
use auto_mutex_core::store::lock;
use rustls::ClientConnection;
use tokio::time::{Instant, timeout_at};

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
    pub(crate) async fn begin(
        socket: Socket,
        (config, server): Trust,
        end: Instant,
    ) -> io::Result<Self> {
        let tls = ClientConnection::new(config, server);
        let tls = tls.map_err(|error| fault::of(&error).into_io())?;
        let state = Mutex::new(State { tls, owed: 0 });
        let session = Self { socket, state };
        match timeout_at(end, poll_fn(|cx| session.poll_handshake(cx))).await {
            Ok(Ok(())) => Ok(session),
            Ok(Err(error)) => Err(fault::of_handshake(error)),
            Err(_) => Err(TlsError::NoAnswer.into_io()),
        }
    }

    fn poll_handshake(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Self { socket, state } = self;
        let state = &mut *lock(state);
        loop {
            match state.send(socket) {
                Ok(()) if !state.tls.is_handshaking() => return Poll::Ready(Ok(())),
                Ok(()) => {
                    ready!(socket.poll_read_ready(cx))?;
                    if !state.receive(&mut &*socket, socket)? {
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

    pub(crate) fn socket(&self) -> &Socket {
        &self.socket
    }

    pub(crate) fn poll_read(
        &self,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let Self { socket, state } = self;
        loop {
            match lock(state).tls.reader().read(buffer) {
                // The end without the alert that TLS demands is accepted.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                    return Poll::Ready(Ok(0));
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                read => return Poll::Ready(read),
            }
            ready!(socket.poll_read_ready(cx))?;
            lock(state).receive(&mut &*socket, socket)?;
        }
    }

    /// After `WouldBlock`, the caller must offer the same bytes again: the socket may have taken a part of them, encrypted.
    pub(crate) fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
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
    /// `false`: there will be no more bytes.
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
        // Sends alerts, or a change of keys. If the socket does not take all of it, the next write sends the rest first.
        let _ = self.send(socket);
        match taken {
            Ok(_) => Ok(count > 0),
            Err(error) => Err(fault::of(&error).into_io()),
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
