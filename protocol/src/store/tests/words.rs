//! Translates times, tokens, tickets and members between the model and the memory store.

use std::collections::BTreeMap;
use std::time::Duration;

use auto_mutex_model::network::{self, Fence};
use auto_mutex_model::rules::Rules;

use crate::{HolderRecord, LIMITS, MemberId, Retain, Ticket, millis};

/// The translation between the model and the memory store.
#[derive(Clone, Debug)]
pub(super) struct Words {
    pub(super) tick_ms: u64,
    /// The token of the memory store for each token of the model.
    tokens: BTreeMap<Fence, u64>,
}

impl Words {
    pub(super) fn new(rules: &Rules) -> Self {
        Self {
            tick_ms: millis(LIMITS.claim) / u64::from(rules.claim),
            tokens: BTreeMap::new(),
        }
    }

    /// Returns the length of a tombstone in ticks.
    pub(super) fn tomb(claim: u8) -> u8 {
        (millis(LIMITS.tombstone) * u64::from(claim) / millis(LIMITS.claim)) as u8
    }

    pub(super) fn millis(&self, ticks: u8) -> u64 {
        u64::from(ticks) * self.tick_ms
    }

    pub(super) fn duration(&self, ticks: u8) -> Duration {
        Duration::from_millis(self.millis(ticks))
    }

    pub(super) fn ticks(&self, micros: u64) -> u64 {
        let tick = self.tick_ms * 1000;
        assert_eq!(micros % tick, 0, "times are whole ticks");
        micros / tick
    }

    /// Records that one grant got `fence` in the model and `token` in the memory store. Fails if this contradicts
    /// earlier grants.
    pub(super) fn given(&mut self, fence: Fence, token: u64) -> Result<(), String> {
        let known = *self.tokens.entry(fence).or_insert(token);
        let tokens = self.tokens.values();
        if known == token && tokens.is_sorted_by(|one, next| one < next) {
            return Ok(());
        }
        Err(format!("{token} is given for {fence}: {:?}", self.tokens))
    }

    pub(super) fn fence(&self, token: u64) -> Fence {
        if token == 0 {
            return 0;
        }
        let mut known = self.tokens.iter();
        let found = known.find(|known| *known.1 == token);
        found.map_or(Fence::MAX, |known| *known.0)
    }

    pub(super) fn fence_of(&self, holder: Option<HolderRecord>) -> Option<Fence> {
        holder.map(|holder| self.fence(holder.token))
    }
}

/// Returns the member with this number.
pub(super) fn member(index: u8) -> MemberId {
    MemberId::parse(&format!("{:032x}", u32::from(index) + 1)).unwrap()
}

pub(super) fn index(member: MemberId) -> u8 {
    u128::from_str_radix(&member.to_string(), 16).unwrap() as u8 - 1
}

/// Translates what a member of the model does with the lock after a call.
pub(super) fn retain(plain: network::Retain) -> Retain {
    match plain {
        network::Retain::No => Retain::No,
        network::Retain::InUse => Retain::InUse,
        network::Retain::Kept => Retain::Kept,
    }
}

/// Translates a ticket of the model into one of the memory store.
pub(super) fn ticket(plain: network::Ticket) -> Ticket {
    let number = u32::from(plain.member) << 8 | u32::from(plain.number);
    Ticket::parse(&format!("{:032x}", number + 1)).unwrap()
}

pub(super) fn plain(ticket: Ticket) -> network::Ticket {
    let number = u128::from_str_radix(&ticket.to_string(), 16).unwrap() as u32 - 1;
    network::Ticket {
        member: (number >> 8) as u8,
        number: number as u8,
    }
}
