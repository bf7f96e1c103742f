//! [`Greeting`]: what a server says at first, up to its process id, which the driver keeps to itself.

use std::io;

/// The kinds of messages that a server of the protocol may say at first.
const FIRST: [u8; 4] = *b"RENv";
const KEY: u8 = b'K';

#[derive(Default)]
pub(super) struct Greeting {
    is_checked: bool,
    header: Vec<u8>,
    /// How many bytes of the message's body follow.
    rest: usize,
}

impl Greeting {
    /// Returns the process id, once it is there.
    pub(super) fn read(&mut self, mut bytes: &[u8]) -> io::Result<Option<i32>> {
        while let Some((first, after)) = bytes.split_first() {
            if !self.is_checked && !FIRST.contains(first) {
                return Err(io::ErrorKind::InvalidData.into());
            }
            self.is_checked = true;
            if self.rest > 0 {
                let skipped = self.rest.min(bytes.len());
                self.rest -= skipped;
                bytes = &bytes[skipped..];
                continue;
            }
            self.header.push(*first);
            bytes = after;
            match *self.header.as_slice() {
                [KEY, _, _, _, _, a, b, c, d] => {
                    return Ok(Some(i32::from_be_bytes([a, b, c, d])));
                }
                [kind, a, b, c, d] if kind != KEY => {
                    let length = u32::from_be_bytes([a, b, c, d]) as usize;
                    self.rest = length.saturating_sub(4);
                    self.header.clear();
                }
                _ => {}
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_id_is_found_however_the_bytes_arrive() {
        let mut bytes = vec![b'R', 0, 0, 0, 8, 0, 0, 0, 0];
        bytes.extend(*b"S\0\0\0\x09a\0K\0\0");
        bytes.extend([b'K', 0, 0, 0, 12, 0, 0, 1, 2, 9, 9, 9, 9]);
        for size in 1..bytes.len() {
            let mut greeting = Greeting::default();
            let read = |chunk: &[u8]| greeting.read(chunk).unwrap();
            let found = bytes.chunks(size).find_map(read);
            assert_eq!(found, Some(258), "{size}");
        }
    }

    #[test]
    fn another_protocol_is_noticed() {
        assert!(Greeting::default().read(b"HTTP/1.1 400").is_err());
        assert!(Greeting::default().read(b"-ERR unknown").is_err());
    }
}
