//! Finds out, for a better error, which protocol a server uses that did not understand the client.

use std::future::poll_fn;
use std::io::{ErrorKind, Result, Write as _};
use std::time::Duration;

use auto_mutex_core::store::{Address, Dialer};
use tokio::time::timeout;

use super::super::limits::Limits;
use super::socket::Socket;

const PATIENCE: Duration = Duration::from_secs(2);

/// A malformed TLS handshake: a server that uses TLS answers with an alert.
const RECORD: &[u8] = &[0x16, 3, 1, 0, 5, 1, 0, 0, 1, 0];

pub(crate) const TLS_ALERT: [u8; 2] = [0x15, 3];

pub(crate) async fn speaks_tls(address: &Address, dialer: Option<&Dialer>) -> bool {
    let Address::Tcp { host, port } = address else {
        return false;
    };
    let answer = timeout(PATIENCE, ask(host, *port, dialer, RECORD)).await;
    matches!(answer, Ok(Ok(TLS_ALERT)))
}

#[cfg(feature = "tls-no-provider")]
pub(super) async fn speaks_plainly(host: &str, port: u16, dialer: Option<&Dialer>) -> bool {
    let answer = timeout(PATIENCE, ask(host, port, dialer, b"PING\r\n")).await;
    matches!(answer, Ok(Ok([b'+' | b'-', b'A'..=b'Z'])))
}

/// The first two bytes of the reply to `question`, which is short enough for the buffer of a new socket.
async fn ask(host: &str, port: u16, dialer: Option<&Dialer>, question: &[u8]) -> Result<[u8; 2]> {
    let limits = Limits::new(PATIENCE, PATIENCE);
    let socket = Socket::connect(host, port, dialer, limits).await?;
    poll_fn(|cx| socket.poll_write_ready(cx)).await?;
    (&socket).write_all(question)?;
    let (mut answer, mut read) = ([0; 2], 0);
    while read < answer.len() {
        match poll_fn(|cx| socket.poll_read(cx, &mut answer[read..])).await? {
            0 => return Err(ErrorKind::UnexpectedEof.into()),
            count => read += count,
        }
    }
    Ok(answer)
}
