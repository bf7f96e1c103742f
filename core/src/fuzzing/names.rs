//! Names: different parts always make different names, and every name can be sent to a server.

use crate::base::name::{Name, NameBuilder, escape, unescape};
use crate::store::{Ticket, meta};

/// Builds names from `bytes`, which have one part per line; the first part is the namespace.
pub fn names(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let parts: Vec<&str> = text.split('\n').collect();
    let mut builder = NameBuilder::new(parts[0]);
    for part in &parts[1..] {
        builder.part(part);
    }
    if let Ok(name) = builder.finish() {
        let back: Vec<String> = name.as_str().split(':').map(unescape).collect();
        assert_eq!(back, parts, "the parts can be told apart");
        sendable(&name);
    }
    let (namespace, rest) = text.split_once('\n').unwrap_or(("", &text));
    for name in [
        Name::verbatim(Some(namespace), rest),
        Name::verbatim(None, &text),
    ] {
        name.iter().for_each(sendable);
    }
    let meta = meta::write(&meta::machine(namespace, None), 1, rest);
    let meta = meta::owned(&meta, namespace);
    assert_eq!(meta::owner(&meta).as_deref(), Some(namespace));
    assert_eq!(unescape(&escape(&text).to_string()), text);
    if let Some(ticket) = Ticket::parse(&text) {
        assert_eq!(Ticket::parse(&ticket.to_string()), Some(ticket));
    }
}

/// Asserts that `name` can be parsed when a server sends it back, and that the name of its signals differs from it.
fn sendable(name: &Name) {
    let text = name.as_str();
    if !text.is_empty() {
        assert_eq!(Name::parse(text).as_ref(), Some(name));
    }
    assert_ne!(name.beside("signals"), *name);
}
