//! [`Link`]: what is in flight between a client and the store: requests and replies in order, messages in any order, and
//! late copies of requests from connections that broke.

use auto_mutex_protocol::client::AskId;
use auto_mutex_protocol::{Message, Op, Reply, Ticket, Visitor};

/// What is in flight between a client and the store.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Link {
    /// Whether there is a connection. If the client is dead: whether the store has not noticed it yet.
    pub connected: bool,
    /// To the store, the oldest first.
    pub requests: Vec<(AskId, Op)>,
    /// To the client, the oldest first.
    pub replies: Vec<(AskId, Op, Reply)>,
    /// To the client, in no order.
    pub messages: Vec<Message>,
    /// From connections that broke, in no order, and for how many more ticks they may arrive.
    pub late: Vec<(Op, u8)>,
}

impl Link {
    pub(super) fn new() -> Self {
        Self {
            connected: true,
            requests: Vec::new(),
            replies: Vec::new(),
            messages: Vec::new(),
            late: Vec::new(),
        }
    }

    /// Whether something about the ticket is in flight, or was lost with the connection.
    pub fn is_about(&self, ticket: Ticket) -> bool {
        let of = |op: &Op| op.ticket() == Some(ticket);
        !self.connected
            || self.requests.iter().any(|(_, op)| of(op))
            || self.replies.iter().any(|(_, op, _)| of(op))
            || self.messages.iter().any(|it| it.ticket() == Some(ticket))
    }

    pub(crate) fn unanswered(&self) -> usize {
        self.requests.len() + self.replies.len()
    }

    /// Breaks the connection. Returns the requests that get no answer.
    pub(super) fn break_off(&mut self, late: u8) -> Vec<(AskId, Op)> {
        self.connected = false;
        self.messages.clear();
        let requests = core::mem::take(&mut self.requests);
        (self.late).extend(requests.iter().map(|(_, op)| (op.clone(), late)));
        let replies = core::mem::take(&mut self.replies);
        let mut unanswered: Vec<_> = replies.into_iter().map(|(ask, op, _)| (ask, op)).collect();
        unanswered.extend(requests);
        unanswered
    }

    pub(super) fn tell(&mut self, message: Message, most: u8) {
        if !self.messages.contains(&message) {
            self.messages.push(message);
        }
        let older = self.messages.len().saturating_sub(most.into());
        self.messages.drain(..older);
    }

    pub(super) fn tick(&mut self) {
        for (_, left) in &mut self.late {
            *left -= 1;
        }
        self.late.retain(|(_, left)| *left > 0);
    }

    pub(super) fn visit(&mut self, visitor: &mut impl Visitor) {
        for (_, op) in &mut self.requests {
            op.visit(visitor);
        }
        for (_, op, reply) in &mut self.replies {
            op.visit(visitor);
            reply.visit(visitor);
        }
        for message in &mut self.messages {
            message.visit(visitor);
        }
        for (op, _) in &mut self.late {
            op.visit(visitor);
        }
    }
}
