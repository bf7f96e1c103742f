//! The faults that may happen in a run.

/// How the members' clocks run compared with the store's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clocks {
    /// All clocks run at the same rate, except for their slips.
    Together,
    /// Each clock advances independently.
    Free,
    /// The members' clocks stand still, so members consider every grant valid forever.
    Stopped,
}

/// How often each fault may happen in a run. Pauses are no fault, because every member may stop at any point for any
/// time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Faults {
    /// A connection breaks. Requests in flight may still reach the store, late and in any order; no reply comes back.
    pub breaks: u8,
    /// A message of the store to a member is lost.
    pub losses: u8,
    /// A message arrives twice.
    pub copies: u8,
    /// A member dies.
    pub crashes: u8,
    /// The store is restarted without its data.
    pub restarts: u8,
    /// A replica takes over from the store, with the state that it had copied at some earlier time.
    pub failovers: u8,
    /// The store's clock is stepped back.
    pub steps_back: u8,
    /// A member considers the store closed while it is open, or for longer than it is closed.
    pub doubts: u8,
}

impl Faults {
    /// Sets how many connections break.
    #[must_use]
    pub fn breaks(mut self, times: u8) -> Self {
        self.breaks = times;
        self
    }

    /// Sets how many messages are lost.
    #[must_use]
    pub fn losses(mut self, times: u8) -> Self {
        self.losses = times;
        self
    }

    /// Sets how many messages arrive twice.
    #[must_use]
    pub fn copies(mut self, times: u8) -> Self {
        self.copies = times;
        self
    }

    /// Sets how many members die.
    #[must_use]
    pub fn crashes(mut self, times: u8) -> Self {
        self.crashes = times;
        self
    }

    /// Sets how often the store restarts without its data.
    #[must_use]
    pub fn restarts(mut self, times: u8) -> Self {
        self.restarts = times;
        self
    }

    /// Sets how often a replica is promoted.
    #[must_use]
    pub fn failovers(mut self, times: u8) -> Self {
        self.failovers = times;
        self
    }

    /// Sets how often a member wrongly considers the store closed.
    #[must_use]
    pub fn doubts(mut self, times: u8) -> Self {
        self.doubts = times;
        self
    }

    /// Sets how often the store's clock steps back.
    #[must_use]
    pub fn steps_back(mut self, times: u8) -> Self {
        self.steps_back = times;
        self
    }
}
