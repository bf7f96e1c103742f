//! [`Connection`]: sends a request, and reads its reply.

use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use auto_mutex_net::socket::{Stream, Tls, local};
use auto_mutex_seam::TlsError;
use auto_mutex_seam::store::Address;
use redis::Cmd;
use tokio::time::Instant;

use super::inbox::Inbox;
use super::limits::Limits;
use super::value::{Garbage, Value};

const NO_LIMIT: Duration = Duration::MAX;

pub(crate) struct Connection {
    pub(crate) stream: Arc<Stream>,
    pub(crate) inbox: Inbox,
    /// How long the server may be silent while it is asked.
    pub(crate) silence: Duration,
    /// How many bytes were sent last. They may still be in transit.
    sent: usize,
    pub(crate) slowest: Duration,
}

impl Connection {
    pub(crate) async fn open(
        address: &Address,
        tls: Option<&Tls>,
        limits: Limits,
    ) -> io::Result<Self> {
        // On the heap, because large nested futures could overflow a thread's stack in debug builds.
        let stream = Box::pin(open(address, tls, limits)).await?;
        Ok(Self {
            stream: Arc::new(stream),
            inbox: Inbox::new(),
            silence: limits.silence,
            sent: 0,
            slowest: Duration::ZERO,
        })
    }

    pub(crate) async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sent = bytes.len();
        let mut written = 0;
        while written < bytes.len() {
            let room = poll_fn(|cx| self.stream.poll_ready(cx));
            Limits::step(self.silence, self.sent, room).await?;
            self.stream.write(bytes, &mut written)?;
        }
        Ok(())
    }

    pub(crate) async fn ask(&mut self, command: &Cmd) -> io::Result<Value<'_>> {
        self.send(&command.get_packed_command()).await?;
        self.reply().await
    }

    pub(crate) async fn reply(&mut self) -> io::Result<Value<'_>> {
        loop {
            let began = Instant::now();
            self.arrival(self.silence).await?;
            if !self.inbox.is_push() {
                self.slowest = self.slowest.max(began.elapsed());
                return self.taken();
            }
            self.taken()?;
        }
    }

    pub(crate) async fn next(&mut self) -> io::Result<Value<'_>> {
        self.arrival(self.silence).await?;
        self.taken()
    }

    /// The next reply or push, without a time limit. Cancel safe.
    pub(crate) async fn whenever(&mut self) -> io::Result<Value<'_>> {
        self.arrival(NO_LIMIT).await?;
        self.taken()
    }

    pub(crate) fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        self.inbox.poll_fill(cx, &self.stream)
    }

    fn taken(&mut self) -> io::Result<Value<'_>> {
        let value = self.inbox.next().map_err(invalid)?;
        value.ok_or_else(|| invalid(Garbage))
    }

    async fn arrival(&mut self, silence: Duration) -> io::Result<()> {
        loop {
            match self.inbox.has_value() {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                Err(_) if self.inbox.is_alert() => {
                    return Err(TlsError::Required.into_io());
                }
                Err(garbage) => return Err(invalid(garbage)),
            }
            let sent = self.sent;
            let more = poll_fn(|cx| self.poll_fill(cx));
            if Limits::step(silence, sent, more).await? == 0 {
                let closed = "the server closed the connection";
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, closed));
            }
        }
    }
}

async fn open(address: &Address, tls: Option<&Tls>, limits: Limits) -> io::Result<Stream> {
    match (address, tls) {
        (Address::Unix(path), _) => local(path).await.map(Stream::plain),
        (Address::Tcp { host, port }, None) => limits.dial(host, *port).await.map(Stream::plain),
        #[cfg(feature = "tls-no-provider")]
        (Address::Tcp { host, port }, Some(tls)) => {
            super::tls::open(host, *port, tls, limits).await
        }
        #[cfg(not(feature = "tls-no-provider"))]
        (Address::Tcp { .. }, Some(_)) => Err(io::ErrorKind::Unsupported.into()),
    }
}

fn invalid(garbage: Garbage) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, garbage)
}
