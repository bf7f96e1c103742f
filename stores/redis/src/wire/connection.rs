//! [`Connection`]: sends requests and reads their replies, in turn. It serves the set-up of a main connection, and the
//! connections beside it.

use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use auto_mutex_core::TlsError;
use auto_mutex_core::store::Address;
use redis::Cmd;
use tokio::time::Instant;

use super::inbox::Inbox;
use super::limits::Limits;
use super::stream::{Reading, Writing, open};
use super::value::{Garbage, Value};
use crate::wire::Transport;

/// No time limit: a timer treats this duration as a time in the far future.
const NO_LIMIT: Duration = Duration::MAX;

/// A socket with a single user.
#[derive(Debug)]
pub(in super::super) struct Connection {
    reading: Reading,
    pub(in super::super) writing: Arc<Writing>,
    pub(in super::super) inbox: Inbox,
    /// How long an awaited reply may make no progress.
    silence: Duration,
    /// How many bytes were sent last; they may still be in transit.
    sent: usize,
    /// The longest time that a reply took.
    pub(in super::super) slowest: Duration,
}

impl Connection {
    /// Connects; a TLS failure is a [`TlsError`] inside the error.
    pub(in super::super) async fn open(
        address: &Address,
        transport: &Transport,
        limits: Limits,
    ) -> io::Result<Self> {
        // The future is on the heap, because it is large and part of many other futures. In a debug build, such futures
        // could otherwise overflow the stack of a thread.
        let (reading, writing) = Box::pin(open(address, transport, limits)).await?;
        Ok(Self {
            reading,
            writing: Arc::new(writing),
            inbox: Inbox::new(),
            silence: limits.silence,
            sent: 0,
            slowest: Duration::ZERO,
        })
    }

    /// Removes all time limits.
    pub(in super::super) fn lift_limits(&mut self) {
        self.silence = NO_LIMIT;
    }

    pub(in super::super) async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sent = bytes.len();
        let mut written = 0;
        while written < bytes.len() {
            let writing = &self.writing;
            let room = poll_fn(|cx| writing.poll_ready(cx));
            Limits::step(self.silence, self.sent, room).await?;
            self.writing.write(bytes, &mut written)?;
        }
        Ok(())
    }

    /// Sends one command, and returns its reply.
    pub(in super::super) async fn ask(&mut self, command: &Cmd) -> io::Result<Value<'_>> {
        self.send(&command.get_packed_command()).await?;
        self.reply().await
    }

    /// Returns the next reply; drops the pushes that arrive before it.
    pub(in super::super) async fn reply(&mut self) -> io::Result<Value<'_>> {
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

    /// The next reply or push.
    pub(in super::super) async fn next(&mut self) -> io::Result<Value<'_>> {
        self.arrival(self.silence).await?;
        self.taken()
    }

    /// The next reply or push, without a time limit. Cancel safe.
    pub(in super::super) async fn whenever(&mut self) -> io::Result<Value<'_>> {
        self.arrival(NO_LIMIT).await?;
        self.taken()
    }

    /// Reads once into the inbox, and returns how many bytes came. Zero: the server closed the connection.
    pub(in super::super) fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        self.inbox.poll_fill(cx, &mut self.reading)
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

fn invalid(garbage: Garbage) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, garbage)
}
