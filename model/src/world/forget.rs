//! Drops facts that the model will not use again, so that worlds that differ only in these count as one.

use super::World;
use crate::member::{Member, Phase};
use crate::network::{Answer, Message, Token, Verb};
use crate::rules::{Rules, Safeguard};

impl World {
    /// Drops the replies and messages that member `me` would ignore, and other facts that no rule uses any more.
    pub(super) fn forget(&mut self, me: u8, rules: &Rules) {
        let index = usize::from(me);
        let (member, connection) = (&mut self.members[index], &mut self.connections[index]);
        if !rules.register {
            let pen = member.pen.filter(|_| rules.retain > 0 && member.holds());
            member.pen = pen.map(|pen| Token { order: 0, ..pen });
        }
        member.leaving.sort_unstable();
        connection
            .replies
            .retain(|answer| matters(member, answer, rules));
        if rules.keeps(Safeguard::WaitingTicket) {
            connection
                .messages
                .retain(|message| is_awaited(member, message));
        }
        connection
            .messages
            .sort_unstable_by_key(|message| (message.order(), message.ticket()));
        connection.messages.dedup();
        let older = connection
            .messages
            .len()
            .saturating_sub(rules.messages.into());
        connection.messages.drain(..older);
        connection.late.sort_unstable();
        connection.late.dedup();
        // A record's counter is used only in grants by message, of which a claimed holder gets no more, and to tell older
        // requests, which make a difference only with retention.
        for store in [Some(&mut self.store), self.replica.as_deref_mut()]
            .into_iter()
            .flatten()
        {
            // Only a step back of the clock can revive an ended tombstone.
            if self.faults.steps_back == 0 {
                store.gone.retain(|gone| gone.1 > 0);
            }
            for record in &mut store.records {
                let late = (connection.late.iter()).any(|late| late.0.ticket == record.ticket);
                let older = rules.retain > 0 && (late || record.ticket.member != me);
                if record.lease.is_some_and(|lease| !lease.provisional) && !older {
                    record.counter = 0;
                }
            }
        }
    }
}

fn matters(member: &Member, answer: &Answer, rules: &Rules) -> bool {
    let ticket = answer.request.ticket;
    let counter = match answer.request.verb {
        Verb::Release { .. } => return member.leaving.iter().any(|leaving| leaving.0 == ticket),
        Verb::Acquire(wish) | Verb::Touch(wish) => wish.counter,
    };
    let mine = member.mine.as_ref().filter(|mine| mine.ticket == ticket);
    mine.is_some_and(|mine| match mine.phase {
        Phase::Waits { .. } => true,
        Phase::Holds { granted, .. } => counter > granted || !rules.keeps(Safeguard::OlderAnswer),
    })
}

fn is_awaited(member: &Member, message: &Message) -> bool {
    let mine = member.mine.as_ref();
    mine.is_some_and(|mine| {
        let waits = matches!(mine.phase, Phase::Waits { .. });
        mine.ticket == message.ticket() && (waits || matches!(message, Message::Recall(_)))
    })
}
