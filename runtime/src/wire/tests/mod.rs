//! What is read from the wire: values whole and in pieces, limits, garbage.

mod garbage;
mod second_reader;
mod values;

use super::inbox::Inbox;
use super::value::{Garbage, Value};

/// Everything that is complete, as text.
fn all(inbox: &mut Inbox) -> Result<Vec<String>, Garbage> {
    let mut found = Vec::new();
    while let Some(value) = inbox.next()? {
        found.push(format!("{value:?}"));
    }
    Ok(found)
}

/// What is made of `bytes` that come at once.
fn read(bytes: &[u8]) -> Result<Vec<String>, Garbage> {
    let mut inbox = Inbox::new();
    inbox.feed(bytes);
    all(&mut inbox)
}

fn text(text: &str) -> Value<'_> {
    Value::Text(text.as_bytes())
}

/// A generator that always says the same.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 8) as usize
    }
}
