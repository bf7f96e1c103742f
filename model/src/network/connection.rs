//! [`Connection`]: what is in flight between a member and the store, including requests from earlier connections.

use super::{Answer, Message, Request, Ticket, Verb};

/// The connection of one member, and the requests that its earlier connections have left in flight.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Connection {
    /// Whether the member has a connection. For a dead member: whether the store has not noticed the death yet.
    pub connected: bool,
    /// Requests in flight to the store, the oldest first.
    pub requests: Vec<Request>,
    /// Replies in flight to the member, the oldest first.
    pub replies: Vec<Answer>,
    /// Messages in flight to the member, in no order.
    pub messages: Vec<Message>,
    /// Requests sent on broken connections, in no order, with how many ticks each may still take to arrive.
    pub late: Vec<(Request, u8)>,
}

impl Connection {
    /// A connection on which nothing was sent.
    #[must_use]
    pub fn new() -> Self {
        Self {
            connected: true,
            requests: Vec::new(),
            replies: Vec::new(),
            messages: Vec::new(),
            late: Vec::new(),
        }
    }

    /// Returns how many requests about `ticket` have no answer yet.
    #[must_use]
    pub fn under_way(&self, ticket: Ticket) -> usize {
        let requests = self.requests.iter();
        let replies = self.replies.iter().map(|answer| &answer.request);
        requests
            .chain(replies)
            .filter(|request| request.ticket == ticket)
            .count()
    }

    /// Whether an acquire of `ticket` is unanswered.
    #[must_use]
    pub fn owes_acquire(&self, ticket: Ticket) -> bool {
        let requests = self.requests.iter();
        let replies = self.replies.iter().map(|answer| &answer.request);
        let mut all = requests.chain(replies);
        all.any(|request| request.ticket == ticket && matches!(request.verb, Verb::Acquire(_)))
    }

    /// Breaks the connection. Requests that the store has not read may still arrive within `late` ticks.
    pub fn break_off(&mut self, late: u8) {
        self.connected = false;
        self.replies.clear();
        self.messages.clear();
        let sent = self.requests.drain(..);
        self.late.extend(sent.map(|request| (request, late)));
        self.late.sort_unstable();
        self.late.dedup();
    }

    /// The other end is gone, so everything in flight is lost.
    pub fn cut(&mut self) {
        *self = Self {
            connected: false,
            ..Self::new()
        };
    }
}

impl Default for Connection {
    fn default() -> Self {
        Self::new()
    }
}
