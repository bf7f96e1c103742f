//! Finds out which protocol is used by a server that did not understand the client. The result only serves to report a
//! better error, so the question is sent on a separate connection.

use std::time::Duration;

use auto_mutex_core::store::Dialer;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;

use super::super::limits::Limits;
use super::socket::Socket;

/// How long to wait for the answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// A malformed TLS handshake: a server that uses TLS answers with an alert.
const RECORD: &[u8] = &[0x16, 3, 1, 0, 5, 1, 0, 0, 1, 0];

/// How a TLS alert begins.
pub(in super::super) const TLS_ALERT: [u8; 2] = [0x15, 3];

/// Whether the server uses TLS.
pub(super) async fn speaks_tls(host: &str, port: u16, dialer: Option<&Dialer>) -> bool {
    begins(host, port, dialer, RECORD, |answer| answer == TLS_ALERT).await
}

/// Whether the server uses the Redis protocol without TLS.
#[cfg(feature = "tls-no-provider")]
pub(super) async fn speaks_plainly(host: &str, port: u16, dialer: Option<&Dialer>) -> bool {
    begins(host, port, dialer, b"PING\r\n", |answer| {
        matches!(answer, [b'+' | b'-', b'A'..=b'Z'])
    })
    .await
}

/// Whether the first two bytes of the reply to `question` are as `expected`.
async fn begins(
    host: &str,
    port: u16,
    dialer: Option<&Dialer>,
    question: &[u8],
    expected: impl Fn([u8; 2]) -> bool,
) -> bool {
    let asking = async {
        let limits = Limits::new(PATIENCE, PATIENCE);
        let mut socket = Socket::connect(host, port, dialer, limits).await?;
        socket.write_all(question).await?;
        let mut answer = [0; 2];
        socket.read_exact(&mut answer).await?;
        std::io::Result::Ok(answer)
    };
    matches!(timeout(PATIENCE, asking).await, Ok(Ok(answer)) if expected(answer))
}
