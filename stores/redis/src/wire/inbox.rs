//! [`Inbox`]: received bytes, split into values.

use std::io;
use std::task::{Context, Poll, ready};

use auto_mutex_net::socket::Stream;

use super::value::{Garbage, Value, number, parse};

const SMALL: usize = 16 << 10;
const KEPT: usize = 64 << 10;

/// Replies to this library are shorter: 20 MB for a name with a hundred thousand waiters.
const LARGEST: usize = 64 << 20;
const MOST: u64 = 1 << 21;
const LONGEST: usize = 64 << 10;

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

/// Finds the end of a value that arrives in pieces, without reading complete parts again.
pub(super) struct Frame {
    at: usize,
    /// How many bytes from `at` on are known to contain no line end.
    seen: usize,
    missing: u64,
}

impl Frame {
    pub(super) fn new() -> Self {
        Self {
            at: 0,
            seen: 0,
            missing: 1,
        }
    }

    /// Returns the length of the value once it is complete.
    pub(super) fn look(&mut self, bytes: &[u8]) -> Result<Option<usize>, Garbage> {
        while self.missing > 0 {
            if self.at > LARGEST || self.missing > MOST {
                return Err(Garbage);
            }
            let Some(value) = bytes.get(self.at..).filter(|rest| !rest.is_empty()) else {
                return Ok(None);
            };
            if !b"+-:_,#($=!*~>%|".contains(&value[0]) {
                return Err(Garbage);
            }
            let Some(end) = value[self.seen..].iter().position(|byte| *byte == b'\n') else {
                self.seen = value.len();
                return if self.seen > LONGEST {
                    Err(Garbage)
                } else {
                    Ok(None)
                };
            };
            let end = self.seen + end;
            let Some(line) = value[1..end].strip_suffix(b"\r") else {
                return Err(Garbage);
            };
            let mut length = end + 1;
            let (mut ends, mut begins) = (1, 0);
            match value[0] {
                // A length of -1 is the nil of RESP2.
                b'$' | b'*' if line == b"-1" => {}
                b'$' | b'=' | b'!' => {
                    length += size(line, LARGEST as u64)? as usize + 2;
                    if value.len() < length {
                        return Ok(None);
                    }
                    if !value[..length].ends_with(b"\r\n") {
                        return Err(Garbage);
                    }
                }
                b'*' | b'~' | b'>' => begins = size(line, MOST)?,
                b'%' => begins = 2 * size(line, MOST)?,
                // An attribute precedes a value, and is not counted as one.
                b'|' => (ends, begins) = (0, 2 * size(line, MOST)?),
                _ => {}
            }
            self.at += length;
            self.seen = 0;
            self.missing = self.missing - ends + begins;
        }
        Ok(Some(self.at))
    }
}

fn size(line: &[u8], most: u64) -> Result<u64, Garbage> {
    let size = number(line)?;
    u64::try_from(size)
        .ok()
        .filter(|size| *size <= most)
        .ok_or(Garbage)
}
