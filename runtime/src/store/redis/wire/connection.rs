//! [`Connection`]: question and answer, while one is set up.

use std::future::poll_fn;
use std::io;

use tokio::time::Instant;

use super::inbox::Inbox;
use super::stream::{Reading, Writing, open};
use super::value::{Garbage, Value};
use crate::config::{Address, Tls};
use crate::error::TlsError;

/// A socket that nobody else uses yet.
#[derive(Debug)]
pub(in super::super) struct Connection {
    pub(in super::super) reading: Reading,
    pub(in super::super) writing: Writing,
    pub(in super::super) inbox: Inbox,
}

impl Connection {
    /// Connects; what goes wrong with TLS is a [`TlsError`] inside.
    pub(in super::super) async fn open(
        address: &Address,
        tls: Option<&Tls>,
        end: Instant,
    ) -> io::Result<Self> {
        let (reading, writing) = open(address, tls, end).await?;
        Ok(Self {
            reading,
            writing,
            inbox: Inbox::new(),
        })
    }

    pub(in super::super) async fn send(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            poll_fn(|cx| self.writing.poll_ready(cx)).await?;
            match self.writing.try_write(bytes) {
                Ok(count) => bytes = &bytes[count..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The next reply; pushes before it are forgotten.
    pub(in super::super) async fn reply(&mut self) -> io::Result<Value<'_>> {
        loop {
            self.arrival().await?;
            if !self.inbox.is_push() {
                return self.taken();
            }
            self.taken()?;
        }
    }

    /// The next reply or push.
    pub(in super::super) async fn next(&mut self) -> io::Result<Value<'_>> {
        self.arrival().await?;
        self.taken()
    }

    fn taken(&mut self) -> io::Result<Value<'_>> {
        let value = self.inbox.next().map_err(invalid)?;
        value.ok_or_else(|| invalid(Garbage))
    }

    async fn arrival(&mut self) -> io::Result<()> {
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
            if poll_fn(|cx| inbox.poll_fill(cx, reading)).await? == 0 {
                let closed = "the server closed the connection";
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, closed));
            }
        }
    }
}

fn invalid(garbage: Garbage) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, garbage)
}
