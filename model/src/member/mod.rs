//! A member: its state, its requests, and how it handles replies and messages.
//!
//! A member has only one caller at a time, because the handoff within a process is tested elsewhere
//! (`core/src/queue/interleavings`). Times are remaining or elapsed ticks of the member's own clock, unless a field
//! mentions the store's clock.

mod answers;
mod steps;
mod ticket;

pub use self::ticket::{Mine, Phase, Sent};

use crate::network::{Connection, Ticket, Token};
use crate::rules::{Rules, Safeguard};

/// One member.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Member {
    /// How many more times the member will ask for the lock.
    pub calls: u8,
    /// The number of the member's next ticket.
    pub next: u8,
    /// The ticket that waits or holds.
    pub mine: Option<Mine>,
    /// Tickets with an unanswered release; `true` if the release leaves a tombstone.
    pub leaving: Vec<(Ticket, bool)>,
    /// The fencing token of the last call that entered.
    pub pen: Option<Token>,
    /// The member has died.
    pub dead: bool,
    /// The ticket with which the member kept the lock when it died.
    pub kept: Option<Ticket>,
    /// How many ticks the member's clock may still fall behind the store's clock.
    pub slips: u8,
    /// For how many more ticks of the store's clock the member considers the store closed, rightly or not.
    pub closed: u8,
}

impl Member {
    /// Returns a member that has not asked for the lock yet.
    #[must_use]
    pub fn new(calls: u8, slips: u8) -> Self {
        Self {
            calls,
            next: 0,
            mine: None,
            leaving: Vec::new(),
            pen: None,
            dead: false,
            kept: None,
            slips,
            closed: 0,
        }
    }

    /// Returns the ticket and token that the member holds by its own clock.
    #[must_use]
    pub fn held(&self) -> Option<(Ticket, Token)> {
        let mine = self.mine.as_ref()?;
        match mine.phase {
            Phase::Holds { token, left, .. } if left > 0 => Some((mine.ticket, token)),
            _ => None,
        }
    }

    /// Returns whether the member holds the lock by its own clock.
    #[must_use]
    pub fn believes(&self) -> bool {
        self.held().is_some()
    }

    /// Returns whether the member waits for the lock.
    #[must_use]
    pub fn waits(&self) -> bool {
        let mine = self.mine.as_ref();
        mine.is_some_and(|mine| matches!(mine.phase, Phase::Waits { .. }))
    }

    /// Whether the member holds the lock, or has not noticed the end of its hold.
    #[must_use]
    pub fn holds(&self) -> bool {
        let mine = self.mine.as_ref();
        mine.is_some_and(|mine| matches!(mine.phase, Phase::Holds { .. }))
    }

    /// Whether the member keeps the lock, and no call is inside.
    #[must_use]
    pub fn keeps(&self) -> bool {
        let mine = self.mine.as_ref();
        mine.is_some_and(|mine| matches!(mine.phase, Phase::Holds { inside: false, .. }))
    }

    /// Whether the member may keep the lock when the call that is inside ends.
    #[must_use]
    pub fn may_keep(&self, connection: &Connection, rules: &Rules) -> bool {
        let Some(mine) = self.mine.as_ref().filter(|mine| mine.keep) else {
            return false;
        };
        let inside = matches!(mine.phase, Phase::Holds { inside: true, .. }) && self.believes();
        let sends =
            connection.connected && connection.under_way(mine.ticket) < usize::from(rules.pipeline);
        inside && self.closed == 0 && sends
    }

    /// Whether the member keeps the lock, and the next call may enter it without a request to the store.
    #[must_use]
    pub fn may_enter_again(&self, rules: &Rules) -> bool {
        let valid = self.believes() || !rules.keeps(Safeguard::ValidEntry);
        self.calls > 0 && self.keeps() && valid && self.next_pen(rules).is_some()
    }

    /// Whether the member still has `ticket`. A ticket being released counts until the store answers.
    #[must_use]
    pub fn knows(&self, ticket: Ticket) -> bool {
        let mine = self.mine.as_ref().is_some_and(|mine| mine.ticket == ticket);
        mine || self.leaving.iter().any(|leaving| leaving.0 == ticket)
    }

    /// Advances the member's clock by one tick, and forgets requests sent `forgotten` ticks ago, which can no longer
    /// bring a grant.
    pub fn tick(&mut self, forgotten: u8) {
        let Some(mine) = &mut self.mine else { return };
        if let Phase::Holds { left, .. } = &mut mine.phase {
            *left = left.saturating_sub(1);
        }
        for sent in &mut mine.sent {
            sent.age += 1;
        }
        mine.sent.retain(|sent| sent.age < forgotten);
    }
}
