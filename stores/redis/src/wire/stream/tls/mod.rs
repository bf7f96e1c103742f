//! TLS, over a TCP connection.

mod session;
#[cfg(repository)]
#[cfg(all(test, feature = "tls"))]
mod tests;

use std::future::{pending, poll_fn};
use std::io::{self, Write as _};
use std::sync::Mutex;
use std::time::Duration;

use auto_mutex_core::TlsError;
use auto_mutex_core::store::first;
use auto_mutex_core::store::socket::{Tls, trust};
use tokio::time::{sleep, timeout};

pub(super) use self::session::Session;
use super::Stream;
use super::socket::Socket;
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
    poll_fn(|cx| socket.poll_write_ready(cx)).await?;
    // Short enough for the buffer of a new socket.
    (&socket).write_all(b"PING\r\n")?;
    let mut answer = [0; 2];
    poll_fn(|cx| socket.poll_read(cx, &mut answer)).await?;
    Ok(matches!(answer, [b'+' | b'-', b'A'..=b'Z']))
}
