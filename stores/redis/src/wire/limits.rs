//! [`Limits`]: how long an attempt to connect may take.

use std::future::Future;
use std::io;
use std::time::Duration;

use auto_mutex_net::socket::dial;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout, timeout_at};

/// Bytes per second on the slowest supported link, from which the transit time of sent bytes is estimated.
const SLOWEST: f64 = 8192.0;

/// The time limits of a connection attempt. There are two, because either the server or the link may be slow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) end: Instant,
    pub(crate) silence: Duration,
}

impl Limits {
    pub(crate) fn new(whole: Duration, silence: Duration) -> Self {
        let silence = silence.min(whole);
        // Timers have a maximum. A day is long enough here.
        let whole = whole.min(Duration::from_secs(86_400));
        Self {
            end: Instant::now() + whole,
            silence,
        }
    }

    pub(crate) fn at_most(self, most: Duration) -> Self {
        Self {
            end: self.end.min(Instant::now() + most),
            ..self
        }
    }

    pub(super) async fn dial(self, host: &str, port: u16) -> io::Result<TcpStream> {
        Self::step(self.silence, 0, dial(host, port)).await
    }

    pub(crate) async fn within<T, E: From<io::Error>>(
        self,
        attempt: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        let done = timeout_at(self.end, attempt).await;
        done.unwrap_or_else(|_| Err(silent().into()))
    }

    /// Extends `silence` by the transit time of `sent` bytes.
    pub(crate) async fn step<T>(
        silence: Duration,
        sent: usize,
        step: impl Future<Output = io::Result<T>>,
    ) -> io::Result<T> {
        let slow = Duration::from_secs_f64(sent as f64 / SLOWEST);
        let taken = timeout(silence.saturating_add(slow), step).await;
        taken.unwrap_or_else(|_| Err(silent()))
    }
}

fn silent() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "the server does not answer")
}
