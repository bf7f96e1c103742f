//! [`Greeting`]: what a server says at first, until it takes requests. It has the process id, which the driver keeps to
//! itself.

use std::io;

/// The kinds of messages that a server of the protocol may say at first.
const FIRST: [u8; 4] = *b"RENv";
const KEY: u8 = b'K';
/// The server takes requests.
const READY: u8 = b'Z';
/// More than any server says. Whoever is at the other end has shown nothing yet, and the driver keeps all of a message.
const MOST: usize = 1 << 20;

#[derive(Default)]
pub(super) struct Greeting {
    is_checked: bool,
    size: usize,
    /// The process id, once it is there.
    pid: i32,
    header: Vec<u8>,
    /// How many bytes of the message's body follow.
    rest: usize,
}

impl Greeting {
    /// Returns the process id, once the greeting is over.
    pub(super) fn read(&mut self, mut bytes: &[u8]) -> io::Result<Option<i32>> {
        self.size += bytes.len();
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
            let length = match *self.header.as_slice() {
                [KEY, e, f, g, h, a, b, c, d] => {
                    self.pid = i32::from_be_bytes([a, b, c, d]);
                    [e, f, g, h]
                }
                [READY, ..] => return Ok(Some(self.pid)),
                [kind, e, f, g, h] if kind != KEY => [e, f, g, h],
                _ => continue,
            };
            let length = u32::from_be_bytes(length) as usize;
            self.rest = (length + 1).saturating_sub(self.header.len());
            self.header.clear();
            if self.size.saturating_add(self.rest) > MOST {
                return Err(io::ErrorKind::InvalidData.into());
            }
        }
        match self.size > MOST {
            true => Err(io::ErrorKind::InvalidData.into()),
            false => Ok(None),
        }
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
        bytes.extend([b'Z', 0, 0, 0, 5, b'I']);
        for size in 1..bytes.len() {
            let mut greeting = Greeting::default();
            let read = |chunk: &[u8]| greeting.read(chunk).unwrap();
            let found = bytes.chunks(size).find_map(read);
            assert_eq!(found, Some(258), "{size}");
        }
    }

    #[test]
    fn a_server_that_says_too_much_is_refused() {
        let announced = [b'R', 0x7f, 0xff, 0xff, 0xff];
        assert!(Greeting::default().read(&announced).is_err());
        let late = b"R\0\0\0\x08\0\0\0\0K\0\0\0\x0c\0\0\0\0\0\0\0\0N\x7f\xff\xff\xff";
        assert!(Greeting::default().read(late).is_err());
        let mut greeting = Greeting::default();
        let notice = [&b"N\0\0\x10\0"[..], &[b'x'; 4092]].concat();
        let refused = (0..1000).find(|_| greeting.read(&notice).is_err());
        assert!((250..256).contains(&refused.unwrap()), "{refused:?}");
    }

    #[test]
    fn another_protocol_is_noticed() {
        assert!(Greeting::default().read(b"HTTP/1.1 400").is_err());
        assert!(Greeting::default().read(b"-ERR unknown").is_err());
    }
}
