//! Entry points for the fuzzers, for bytes from a server. See `crate::fuzzing`.

pub(super) mod second_reader;

use super::inbox::Inbox;
use super::value::{Garbage, Value};

/// Calls `look` with each value in `bytes`.
pub(crate) fn each(bytes: &[u8], mut look: impl FnMut(&Value<'_>)) {
    let mut inbox = Inbox::new();
    inbox.feed(bytes);
    while let Ok(Some(value)) = inbox.next() {
        look(&value);
    }
}

/// Reads the bytes in pieces, with sizes that depend on the first byte. The values must equal those read from all bytes
/// at once, and those of another parser.
pub fn resp(bytes: &[u8]) {
    let Some((sizes, bytes)) = bytes.split_first() else {
        return;
    };
    let whole = {
        let mut inbox = Inbox::new();
        inbox.feed(bytes);
        all(&mut inbox)
    };
    second_reader::compare(bytes);
    let mut inbox = Inbox::new();
    let (mut pieces, mut rest, mut dice) = (Ok(Vec::new()), bytes, u32::from(*sizes));
    while !rest.is_empty() && pieces.is_ok() {
        dice = dice.wrapping_mul(1_103_515_245).wrapping_add(12345);
        let longest = if *sizes < 128 { 4 } else { 200 };
        let (piece, later) = rest.split_at(rest.len().min((dice >> 16) as usize % longest + 1));
        inbox.feed(piece);
        rest = later;
        let now = all(&mut inbox);
        pieces = pieces.and_then(|mut found: Vec<String>| {
            found.extend(now?);
            Ok(found)
        });
    }
    assert_eq!(pieces, whole, "in pieces it is the same");
    assert!(
        inbox.buffer.len() <= (4 * bytes.len()).max(64 << 10),
        "it takes {} bytes of room",
        inbox.buffer.len()
    );
}

fn all(inbox: &mut Inbox) -> Result<Vec<String>, Garbage> {
    let mut found = Vec::new();
    while inbox.has_value()? {
        let push = inbox.is_push();
        match inbox.next()? {
            Some(value) => {
                assert_eq!(push, matches!(value, Value::Push(_)));
                found.push(format!("{value:?}"));
            }
            None => panic!("there was a value"),
        }
    }
    assert_eq!(inbox.next(), Ok(None));
    Ok(found)
}

impl Inbox {
    /// Adds received bytes.
    pub(in crate::wire) fn feed(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            self.make_room();
            let room = &mut self.buffer[self.end..];
            let (now, later) = bytes.split_at(bytes.len().min(room.len()));
            room[..now.len()].copy_from_slice(now);
            self.end += now.len();
            bytes = later;
        }
    }
}
