//! Reading from the wire: whole values, pieces of values, limits, and garbage.

mod garbage;
mod second_reader;
#[cfg(feature = "tls")]
mod tls;
mod values;

use super::inbox::Inbox;
use super::value::{Garbage, Value};

/// Returns all complete values, as text.
fn all(inbox: &mut Inbox) -> Result<Vec<String>, Garbage> {
    let mut found = Vec::new();
    while let Some(value) = inbox.next()? {
        found.push(format!("{value:?}"));
    }
    Ok(found)
}

/// Returns the values in `bytes`, which arrive all at once.
fn read(bytes: &[u8]) -> Result<Vec<String>, Garbage> {
    let mut inbox = Inbox::new();
    inbox.feed(bytes);
    all(&mut inbox)
}

fn text(text: &str) -> Value<'_> {
    Value::Text(text.as_bytes())
}

/// A pseudorandom generator.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 8) as usize
    }
}
