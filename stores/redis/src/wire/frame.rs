//! [`Frame`]: finds the end of a value that arrives in pieces, without reading complete parts again.

use super::value::{Garbage, number};

/// Replies to this library are shorter: 20 MB for a name with a hundred thousand waiters.
const LARGEST: usize = 64 << 20;
const MOST: u64 = 1 << 21;
const LONGEST: usize = 64 << 10;

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
