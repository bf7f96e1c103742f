//! [`Link`]: the network, with messages that are few, and late copies that arrive within some ticks.

use auto_mutex_protocol::{Link as Any, Message, Visitor};

/// What is in flight between a client and the store. Of a late copy, it is known for how many more ticks it may arrive.
pub type Link = Any<(), Message, u8>;

/// Of these messages in flight, none is there twice. There are not more than `most`: the oldest are lost.
pub fn thin_out<M: PartialEq, T>(messages: &mut Vec<(M, T)>, most: u8) {
    if let Some((last, earlier)) = messages.split_last()
        && earlier.iter().any(|earlier| earlier.0 == last.0)
    {
        messages.pop();
    }
    let older = messages.len().saturating_sub(most.into());
    messages.drain(..older);
}

/// A tick has passed.
pub(super) fn tick(link: &mut Link) {
    for (_, left) in &mut link.late {
        *left -= 1;
    }
    link.late.retain(|(_, left)| *left > 0);
}

pub(super) fn visit(link: &mut Link, visitor: &mut impl Visitor) {
    for (request, _) in &mut link.requests {
        request.op.visit(visitor);
    }
    for (answer, _) in &mut link.answers {
        answer.request.op.visit(visitor);
        if let Ok(reply) = &mut answer.result {
            reply.visit(visitor);
        }
    }
    for (message, _) in &mut link.messages {
        message.visit(visitor);
    }
    for ((_, op), _) in &mut link.late {
        op.visit(visitor);
    }
}
