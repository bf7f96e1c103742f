//! What is read from the wire: values whole and in pieces, limits, garbage.

mod garbage;
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
