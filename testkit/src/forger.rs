//! The forger: a stranger who may subscribe and publish everywhere, but read no record.

use std::collections::VecDeque;

use auto_mutex_core::store::{clock, lock};

use super::World;
use super::fault::Fault;
use super::faults::Struck;

/// The latest messages, which are those of tickets that may still exist.
const REMEMBERED: usize = 64;

#[derive(Default)]
pub(super) struct Heard(VecDeque<String>);

impl Heard {
    pub(super) fn hear(&mut self, text: &str) {
        self.0.push_back(text.to_owned());
        if self.0.len() > REMEMBERED {
            self.0.pop_front();
        }
    }
}

impl World {
    /// A stranger publishes on the channels of all clients: a message that was there before, or one that the stranger
    /// has made of such messages. Clients believe neither, so nothing happens.
    pub fn forge(&self) -> Struck {
        self.0.struck("", "", Fault::Forge);
        let below = |options: usize| self.0.below(options as u64) as usize;
        let heard = lock(&self.0.heard);
        if !heard.0.is_empty() {
            let text = forged(&heard.0[below(heard.0.len())], &below);
            for member in self.0.all_members() {
                member.tell(self.0.epoch(), clock::now(), text.clone());
            }
        }
        drop(heard);
        self.struck()
    }
}

/// The same message, or one with other words, or another one about the same ticket.
fn forged(text: &str, below: &impl Fn(usize) -> usize) -> String {
    const FAR: &str = "1900000000000000";
    let mut words: Vec<_> = text.split(' ').collect();
    let name = ["", "", "", "", "refresh", "grant"];
    let name = words[name.iter().position(|kind| *kind == words[0]).unwrap_or(2)];
    let id = words[1];
    match below(5) {
        0 => text.to_owned(),
        1 => {
            let at = below(words.len());
            words[at] = ["0", "5000", FAR, "near", "recall"][below(5)];
            words.join(" ")
        }
        2 => format!("refresh {id} 0 {FAR} {name}"),
        3 => format!("lost {id} {name}"),
        _ => format!("grant {id} {FAR} {} 2000 {name}", 1 + below(4)),
    }
}
