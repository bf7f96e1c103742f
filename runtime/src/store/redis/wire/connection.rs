//! [`Connection`]: questions and their replies, one after the other: for the set-up, and for what stands beside it.

use std::future::poll_fn;
use std::io;
use std::time::Duration;

use tokio::time::Instant;

use super::inbox::Inbox;
use super::limits::Limits;
use super::stream::{Reading, Writing, open};
use super::value::{Garbage, Value};
use super::words::{Words, command};
use crate::config::{Address, Tls};
use crate::error::TlsError;

/// A socket that nobody else uses yet.
#[derive(Debug)]
pub(in super::super) struct Connection {
    pub(in super::super) reading: Reading,
    pub(in super::super) writing: Writing,
    pub(in super::super) inbox: Inbox,
    /// How long an awaited reply may make no progress; `None`: no limit.
    silence: Option<Duration>,
    /// The size of what was sent last, and may still be on its way.
    sent: usize,
    /// The longest time that a reply took.
    pub(in super::super) slowest: Duration,
}

impl Connection {
    /// Connects; what goes wrong with TLS is a [`TlsError`] inside.
    pub(in super::super) async fn open(
        address: &Address,
        tls: Option<&Tls>,
        limits: Limits,
    ) -> io::Result<Self> {
        let (reading, writing) = open(address, tls, limits).await?;
        Ok(Self {
            reading,
            writing,
            inbox: Inbox::new(),
            silence: Some(limits.silence),
            sent: 0,
            slowest: Duration::ZERO,
        })
    }

    /// Without a limit of its own from now on.
    pub(in super::super) fn without_limits(self) -> Self {
        Self {
            silence: None,
            ..self
        }
    }

    pub(in super::super) async fn send(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        self.sent = bytes.len();
        while !bytes.is_empty() {
            let writing = &self.writing;
            let room = poll_fn(|cx| writing.poll_ready(cx));
            match self.silence {
                Some(silence) => Limits::step(silence, self.sent, room).await?,
                None => room.await?,
            }
            match self.writing.try_write(bytes) {
                Ok(count) => bytes = &bytes[count..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Sends one command, and returns its reply.
    pub(in super::super) async fn ask(
        &mut self,
        write: impl FnOnce(&mut Words<'_>),
    ) -> io::Result<Value<'_>> {
        let mut bytes = Vec::new();
        command(&mut bytes, write);
        self.send(&bytes).await?;
        self.reply().await
    }

    /// The next reply; pushes before it are forgotten.
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

    /// The next reply or push, whenever it comes. It may be dropped before.
    pub(in super::super) async fn whenever(&mut self) -> io::Result<Value<'_>> {
        self.arrival(None).await?;
        self.taken()
    }

    fn taken(&mut self) -> io::Result<Value<'_>> {
        let value = self.inbox.next().map_err(invalid)?;
        value.ok_or_else(|| invalid(Garbage))
    }

    async fn arrival(&mut self, silence: Option<Duration>) -> io::Result<()> {
        loop {
            match self.inbox.has_value() {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                Err(_) if self.inbox.is_alert() => {
                    return Err(io::Error::new(
                        io::ErrorKind::InvalidData,
                        TlsError::Required,
                    ));
                }
                Err(garbage) => return Err(invalid(garbage)),
            }
            let (inbox, reading) = (&mut self.inbox, &mut self.reading);
            let more = poll_fn(|cx| inbox.poll_fill(cx, reading));
            let read = match silence {
                Some(silence) => Limits::step(silence, self.sent, more).await?,
                None => more.await?,
            };
            if read == 0 {
                let closed = "the server closed the connection";
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, closed));
            }
        }
    }
}

fn invalid(garbage: Garbage) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, garbage)
}
