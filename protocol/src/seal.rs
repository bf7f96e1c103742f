//! Messages on channels that strangers can hear and use, as those of Redis. Such a message names the public half of its
//! ticket, and proves with a code that its author knows the secret half: see "Messages are sealed" in
//! `docs/protocol.md`.

use alloc::format;
use alloc::string::{String, ToString};

use crate::{MemberId, Message, Ticket};

/// The digits of a ticket's public half, and of a code.
const HALF: usize = 16;

/// The code of a text whose parts are before and after it: 64 bits of a SHA-1 that begins with the secret.
fn code(ticket: Ticket, before: &str, after: &str) -> String {
    let text = [&ticket.to_string(), before, after].concat();
    let mut code = sha1_smol::Sha1::from(text).digest().to_string();
    code.truncate(HALF);
    code
}

/// Whether the code at `at` is that of the rest. The time says how much of a code is right, but nobody can measure it:
/// a wrong message has no answer.
fn is_sealed(ticket: Ticket, text: &str, at: usize) -> bool {
    let parts = (
        text.get(..at),
        text.get(at..at + HALF),
        text.get(at + HALF..),
    );
    matches!(parts, (Some(before), Some(found), Some(after)) if found == code(ticket, before, after))
}

/// Where the code is in the text of a message about a ticket.
fn place(text: &str) -> usize {
    text.find(' ').map_or(0, |kind| kind + 1 + HALF)
}

impl Message {
    /// The sealed text of this message, as the scripts for Redis write it.
    #[cfg(any(test, feature = "test-util"))]
    #[doc(hidden)]
    pub fn seal(&self, name: &str) -> String {
        let text = self.text(name);
        let Some(ticket) = self.ticket() else {
            return text;
        };
        let at = place(&text);
        let [before, after] = [&text[..at], &text[at + HALF..]];
        [before, &code(ticket, before, after), after].concat()
    }

    /// Opens a sealed text about `ticket`. `None` if its author doesn't know the ticket.
    #[doc(hidden)]
    pub fn open(text: &str, ticket: Ticket) -> Option<Self> {
        let at = place(text);
        if !is_sealed(ticket, text, at) {
            return None;
        }
        // The code is where a ticket has its secret half.
        let secret = &ticket.to_string()[HALF..];
        let (_, message) = Self::parse(&[&text[..at], secret, &text[at + HALF..]].concat())?;
        Some(message)
    }
}

impl Ticket {
    /// Seals a text from the member `from` to another one that knows this ticket of `name` too.
    #[doc(hidden)]
    pub fn seal_letter(self, from: MemberId, name: &str, text: &str) -> String {
        let public = &self.to_string()[..HALF];
        let before = format!("probe {from} {name} {public}");
        let text = format!(" {text}");
        [public, &code(self, &before, &text), &text].concat()
    }

    /// Whether a text is [sealed](Self::seal_letter) with this ticket.
    #[doc(hidden)]
    pub fn has_sealed(self, from: MemberId, name: &str, text: &str) -> bool {
        let before = format!("probe {from} {name} ");
        is_sealed(self, &[&before, text].concat(), before.len() + HALF)
    }
}
