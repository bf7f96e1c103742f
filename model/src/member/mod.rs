//! A member: what it believes, what it asks for, and what it makes of what it hears.
//!
//! One caller at a time wants the lock; the hand-over between callers of one process is not here (see
//! `runtime/src/queue/interleavings`). Times are what is left of them, or how long ago, in ticks of its own clock.

mod answers;
mod steps;
mod ticket;

pub use self::ticket::{Mine, Phase, Sent};

use crate::network::{Ticket, Token};

/// One member.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Member {
    /// How often it will ask for the lock yet.
    pub calls: u8,
    /// The number of its next ticket.
    pub next: u8,
    /// The ticket that waits or holds.
    pub mine: Option<Mine>,
    /// Tickets whose release is not answered, and whether it leaves a tombstone.
    pub leaving: Vec<(Ticket, bool)>,
    /// What it writes with: the token of the last hold that it believed in.
    pub pen: Option<Token>,
    /// It is no more.
    pub dead: bool,
    /// How many ticks its clock may still lose to the store's.
    pub slips: u8,
    /// For how long it takes the store for closed, by the store's clock, whether it is or not.
    pub closed: u8,
}

impl Member {
    /// One that has not asked yet.
    #[must_use]
    pub fn new(calls: u8, slips: u8) -> Self {
        Self {
            calls,
            next: 0,
            mine: None,
            leaving: Vec::new(),
            pen: None,
            dead: false,
            slips,
            closed: 0,
        }
    }

    /// What it holds by its own clock.
    #[must_use]
    pub fn held(&self) -> Option<(Ticket, Token)> {
        let mine = self.mine.as_ref()?;
        match mine.phase {
            Phase::Holds { token, left, .. } if left > 0 => Some((mine.ticket, token)),
            _ => None,
        }
    }

    /// Whether it holds by its own clock.
    #[must_use]
    pub fn believes(&self) -> bool {
        self.held().is_some()
    }

    /// Whether it waits for the lock.
    #[must_use]
    pub fn waits(&self) -> bool {
        let mine = self.mine.as_ref();
        mine.is_some_and(|mine| matches!(mine.phase, Phase::Waits { .. }))
    }

    /// Whether it holds, or did and has not noticed that it is over.
    #[must_use]
    pub fn holds(&self) -> bool {
        let mine = self.mine.as_ref();
        mine.is_some_and(|mine| matches!(mine.phase, Phase::Holds { .. }))
    }

    /// Whether it still knows of `ticket`.
    #[must_use]
    pub fn knows(&self, ticket: Ticket) -> bool {
        let mine = self.mine.as_ref().is_some_and(|mine| mine.ticket == ticket);
        mine || self.leaving.iter().any(|leaving| leaving.0 == ticket)
    }

    /// One tick of its own clock passes; what was sent `forgotten` ticks ago can grant nothing any more.
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
