//! [`Inbox`]: received bytes, split into values.

use std::io;
use std::task::{Context, Poll, ready};

use super::frame::Frame;
use super::stream::Stream;
use super::value::{Garbage, Value, parse};

const SMALL: usize = 16 << 10;
const KEPT: usize = 64 << 10;

pub(crate) struct Inbox {
    pub(super) buffer: Vec<u8>,
    start: usize,
    pub(super) end: usize,
    first: Frame,
}

impl Inbox {
    pub(crate) fn new() -> Self {
        Self {
            buffer: vec![0; SMALL],
            start: 0,
            end: 0,
            first: Frame::new(),
        }
    }

    pub(crate) fn poll_fill(
        &mut self,
        cx: &mut Context<'_>,
        stream: &Stream,
    ) -> Poll<io::Result<usize>> {
        self.make_room();
        let count = ready!(stream.poll_read(cx, &mut self.buffer[self.end..]))?;
        self.end += count;
        Poll::Ready(Ok(count))
    }

    /// Whether a server that uses TLS has sent an alert.
    pub(super) fn is_alert(&self) -> bool {
        self.buffer[self.start..self.end].starts_with(&[0x15, 3])
    }

    pub(super) fn has_value(&mut self) -> Result<bool, Garbage> {
        let length = self.first.look(&self.buffer[self.start..self.end])?;
        Ok(length.is_some())
    }

    pub(super) fn is_push(&self) -> bool {
        self.buffer[self.start..self.end].first() == Some(&b'>')
    }

    pub(crate) fn next(&mut self) -> Result<Option<Value<'_>>, Garbage> {
        let bytes = &self.buffer[self.start..self.end];
        let Some(length) = self.first.look(bytes)? else {
            return Ok(None);
        };
        self.start += length;
        self.first = Frame::new();
        parse(&bytes[..length]).map(Some)
    }

    pub(super) fn make_room(&mut self) {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            if self.buffer.len() > KEPT {
                self.buffer = vec![0; SMALL];
            }
        } else if self.end == self.buffer.len() {
            if self.start > 0 {
                self.buffer.copy_within(self.start..self.end, 0);
                self.end -= self.start;
                self.start = 0;
            }
            // More bytes of this value will come.
            if self.end > self.buffer.len() / 2 {
                self.buffer.resize(2 * self.buffer.len(), 0);
            }
        }
    }
}
