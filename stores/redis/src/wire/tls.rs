//! Opens a connection with TLS.

use std::future::{pending, poll_fn};
use std::io;
use std::time::Duration;

use auto_mutex_net::socket::{Stream, Tls, trust};
use auto_mutex_seam::TlsError;
use auto_mutex_seam::store::first;
use tokio::time::{sleep, timeout, timeout_at};

use super::limits::Limits;

const BEFORE_GUESS: Duration = Duration::from_millis(500);
const PATIENCE: Duration = Duration::from_secs(2);

pub(super) async fn open(host: &str, port: u16, tls: &Tls, limits: Limits) -> io::Result<Stream> {
    // Check the files first, so that unusable ones are reported even if no server listens.
    let until = limits.at_most(limits.silence).end;
    let trust = trust(tls, host, until).await.map_err(TlsError::into_io)?;
    let socket = limits.dial(host, port).await?;
    // Client and server each send two flights, so a handshake gets more time.
    let end = limits.at_most(limits.silence.saturating_mul(2)).end;
    let handshake = async {
        let opened = timeout_at(end, Stream::secure(socket, trust)).await;
        opened.unwrap_or_else(|_| Err(TlsError::NoAnswer.into_io()))
    };
    // A server without TLS may take the handshake for the start of a command, and wait for the rest.
    let guess = async {
        sleep(BEFORE_GUESS).await;
        match timeout(PATIENCE, speaks_plainly(host, port)).await {
            Ok(Ok(true)) => Err(TlsError::NotTls.into_io()),
            _ => pending().await,
        }
    };
    first(handshake, guess).await
}

/// Whether a server that did not understand the handshake speaks plain Redis.
async fn speaks_plainly(host: &str, port: u16) -> io::Result<bool> {
    let stream = Limits::new(PATIENCE, PATIENCE).dial(host, port).await?;
    let stream = Stream::plain(stream);
    poll_fn(|cx| stream.poll_ready(cx)).await?;
    // Short enough for the buffer of a new socket.
    stream.write(b"PING\r\n", &mut 0)?;
    let mut answer = [0; 2];
    poll_fn(|cx| stream.poll_read(cx, &mut answer)).await?;
    Ok(matches!(answer, [b'+' | b'-', b'A'..=b'Z']))
}
