//! What may go wrong in a run.

/// How the clocks of the members go, beside that of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clocks {
    /// All clocks go alike, but for their slips.
    Together,
    /// Each clock goes on when it likes.
    Free,
    /// Those of the members stand still: what they have been told they believe for ever.
    Stopped,
}

/// How often each fault may happen, in all. Pauses need no fault: every member may stand still at any point, for any time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Faults {
    /// A connection breaks: what is under way may still reach the store, late, in any order; no answer comes back.
    pub breaks: u8,
    /// A message of the store to a member is lost.
    pub losses: u8,
    /// A message arrives, and will arrive once more.
    pub copies: u8,
    /// A member dies.
    pub crashes: u8,
    /// The store is restarted without its data.
    pub restarts: u8,
    /// A replica takes the place of the store, with what it had heard until some time.
    pub failovers: u8,
    /// The store's clock is stepped back.
    pub steps_back: u8,
    /// A member is told that the store is closed, when it is open, or for longer than it is.
    pub doubts: u8,
}

impl Faults {
    /// Connections that break.
    #[must_use]
    pub fn breaks(mut self, times: u8) -> Self {
        self.breaks = times;
        self
    }

    /// Messages that are lost.
    #[must_use]
    pub fn losses(mut self, times: u8) -> Self {
        self.losses = times;
        self
    }

    /// Messages that arrive twice.
    #[must_use]
    pub fn copies(mut self, times: u8) -> Self {
        self.copies = times;
        self
    }

    /// Members that die.
    #[must_use]
    pub fn crashes(mut self, times: u8) -> Self {
        self.crashes = times;
        self
    }

    /// Restarts without data.
    #[must_use]
    pub fn restarts(mut self, times: u8) -> Self {
        self.restarts = times;
        self
    }

    /// Promotions of a replica.
    #[must_use]
    pub fn failovers(mut self, times: u8) -> Self {
        self.failovers = times;
        self
    }

    /// Members that take the store for closed.
    #[must_use]
    pub fn doubts(mut self, times: u8) -> Self {
        self.doubts = times;
        self
    }

    /// Steps of the store's clock.
    #[must_use]
    pub fn steps_back(mut self, times: u8) -> Self {
        self.steps_back = times;
        self
    }
}
