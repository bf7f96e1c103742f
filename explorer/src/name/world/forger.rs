//! The forger: a stranger who hears messages and publishes others on the channels of clients, but reads no record. It
//! does not know the secret half of any ticket.

use super::member::member_of;
use super::{NAME, World};
use crate::name::rules::Setup;

/// What a stranger makes of a message of these words.
type Forgery = fn(&[&str]) -> String;

/// What a stranger may send. The second word of a message is the public half of its ticket, and a code.
pub(super) const FORGERIES: [Forgery; 7] = [
    |words| words.join(" "),
    |words| changed(words, 2, FAR),
    // Another counter, and a longer lease.
    |words| changed(words, 3, "2"),
    |words| changed(words, 4, "5000"),
    |words| format!("grant {} {FAR} 1 2000 {NAME}", words[1]),
    |words| format!("lost {} {NAME}", words[1]),
    |words| format!("recall {} {NAME}", words[1]),
];

/// A token of the distant future.
const FAR: &str = "1900000000000000";

fn changed(words: &[&str], index: usize, to: &str) -> String {
    let mut words = words.to_vec();
    if let Some(word) = words.get_mut(index) {
        *word = to;
    }
    words.join(" ")
}

impl World {
    pub(super) fn forge(&mut self, way: u8, rules: &Setup) {
        let Some(message) = &self.overheard else {
            return;
        };
        let (text, ticket) = (message.seal(NAME), message.ticket());
        let words: Vec<_> = text.split(' ').collect();
        let forged = FORGERIES[usize::from(way)](&words);
        if let Some(ticket) = ticket {
            self.hear(member_of(ticket), &forged, rules);
        }
    }
}
