//! Finds out, for a better error, whether a server that did not understand the handshake speaks without TLS.

use std::future::poll_fn;
use std::io::{self, Write as _};
use std::time::Duration;

use auto_mutex_core::store::Dialer;

use super::super::socket::Socket;
use crate::wire::Limits;

pub(super) const PATIENCE: Duration = Duration::from_secs(2);

pub(super) async fn speaks_plainly(
    host: &str,
    port: u16,
    dialer: Option<&Dialer>,
) -> io::Result<bool> {
    let limits = Limits::new(PATIENCE, PATIENCE);
    let socket = Socket::connect(host, port, dialer, limits).await?;
    poll_fn(|cx| socket.poll_write_ready(cx)).await?;
    // It is short enough for the buffer of a new socket.
    (&socket).write_all(b"PING\r\n")?;
    let mut answer = [0; 2];
    poll_fn(|cx| socket.poll_read(cx, &mut answer)).await?;
    Ok(matches!(answer, [b'+' | b'-', b'A'..=b'Z']))
}
