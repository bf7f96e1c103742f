//! How a member handles a reply or a message.

use super::{Member, Mine, Phase};
use crate::network::{Answer, Connection, Granted, Message, Reply, Ticket, Token, Verb};
use crate::rules::{Rules, Safeguard};

impl Member {
    /// Handles a reply.
    pub fn answered(&mut self, me: u8, answer: Answer, connection: &mut Connection, rules: &Rules) {
        let ticket = answer.request.ticket;
        let counter = match answer.request.verb {
            Verb::Release { .. } => {
                self.leaving.retain(|leaving| leaving.0 != ticket);
                return;
            }
            Verb::Acquire(wish) | Verb::Touch(wish) => wish.counter,
        };
        let Some(mine) = self.mine.as_mut().filter(|mine| mine.ticket == ticket) else {
            return;
        };
        let sent = mine.sent(counter);
        let age = sent.map(|sent| sent.age);
        let age = if rules.keeps(Safeguard::SendingTime) {
            age
        } else {
            Some(0)
        };
        let hold = rules.hold(sent.is_some_and(|sent| sent.short));
        let left = age.map_or(0, |age| rules.validity(hold, age));
        match mine.phase {
            Phase::Waits { .. } => {
                let acquired = matches!(answer.request.verb, Verb::Acquire(_));
                mine.keep &= acquired && answer.reply != Reply::Queued;
                self.answered_waiting(me, counter, left, answer.reply, connection, rules);
            }
            // Replies and messages may overtake each other. A reply to a request from before the grant says nothing
            // about the grant.
            Phase::Holds { granted, .. } => {
                if counter > granted || !rules.keeps(Safeguard::OlderAnswer) {
                    self.answered_holding(counter, left, answer.reply, connection, rules);
                }
            }
        }
    }

    fn answered_waiting(
        &mut self,
        me: u8,
        counter: u8,
        left: u8,
        reply: Reply,
        connection: &mut Connection,
        rules: &Rules,
    ) {
        let Some(mine) = &mut self.mine else { return };
        match reply {
            Reply::Granted(token) if left > 0 => self.granted(token, counter, left),
            // The reply took as long as the lease, so the grant is no longer valid.
            Reply::Granted(_) => {
                mine.executed(counter);
                mine.phase = Phase::Waits { queued: true };
                self.ask(connection);
            }
            Reply::Queued => {
                mine.executed(counter);
                mine.phase = Phase::Waits { queued: true };
            }
            // The store has lost the ticket, or refuses it. The member asks again, with a new ticket.
            Reply::Gone | Reply::Refused | Reply::Left => {
                if mine.late {
                    self.leave(connection);
                }
                self.enter(me, connection, rules);
            }
        }
    }

    fn answered_holding(
        &mut self,
        counter: u8,
        valid: u8,
        reply: Reply,
        connection: &mut Connection,
        rules: &Rules,
    ) {
        let Some(Mine { phase, .. }) = &mut self.mine else {
            return;
        };
        let Phase::Holds { token, left, .. } = phase else {
            return;
        };
        // A touch may get a new token. While the hold is valid, no other grant can have come between.
        let renamed = rules.retain > 0 && (*left > 0 || !rules.keeps(Safeguard::NewToken));
        let is_same = |said: Token| {
            said == *token
                || renamed && said.fence > token.fence
                || !rules.keeps(Safeguard::SameToken)
        };
        match reply {
            Reply::Granted(said) if is_same(said) => {
                if rules.retain > 0 {
                    *token = said;
                }
                *left = (*left).max(valid);
                let lost = *left == 0;
                if let Some(mine) = &mut self.mine {
                    mine.executed(counter);
                }
                if lost {
                    self.leave(connection);
                }
            }
            // Either the token differs, because the store has passed the ticket over and granted it again, or the
            // ticket no longer holds. In both cases the old hold is over.
            _ => self.leave(connection),
        }
    }

    /// Handles a message of the store.
    pub fn told(&mut self, message: Message, connection: &mut Connection, rules: &Rules) {
        match message {
            Message::Recall(ticket) => self.recalled(ticket, connection, rules),
            Message::Grant(grant) => self.told_of_grant(grant, connection, rules),
        }
    }

    fn recalled(&mut self, ticket: Ticket, connection: &mut Connection, rules: &Rules) {
        let mine = self.mine.as_mut().filter(|mine| mine.ticket == ticket);
        let Some(mine) = mine.filter(|_| rules.keeps(Safeguard::Recall)) else {
            return;
        };
        mine.keep = false;
        match mine.phase {
            Phase::Holds { inside: false, .. } => self.leave(connection),
            Phase::Holds { .. } if connection.under_way(ticket) < usize::from(rules.pipeline) => {
                self.ask(connection);
            }
            _ => {}
        }
    }

    fn told_of_grant(&mut self, grant: Granted, connection: &mut Connection, rules: &Rules) {
        let Granted {
            ticket,
            counter,
            token,
            hold,
        } = grant;
        let waits =
            |mine: &&Mine| mine.ticket == ticket && matches!(mine.phase, Phase::Waits { .. });
        let Some(mine) = self.mine.as_mut().filter(|mine| waits(&&**mine)) else {
            if !rules.keeps(Safeguard::WaitingTicket) && self.mine.is_none() {
                self.believe_anyway(grant, rules);
            }
            return;
        };
        // The member considers the store closed, so it ignores the grant.
        if self.closed > 0 {
            return;
        }
        let fresh = rules.keeps(Safeguard::FreshGrant);
        let age = mine.sent(counter).map(|sent| sent.age);
        let age = if fresh { age } else { Some(0) };
        let left = age.map_or(0, |age| rules.validity(hold, age));
        mine.keep = false;
        if left > 0 {
            self.granted(token, counter, left);
        } else if connection.under_way(ticket) < usize::from(rules.pipeline) {
            self.ask(connection);
        }
    }

    /// Without the rule `WaitingTicket`, a member without a ticket accepts every grant that arrives.
    fn believe_anyway(&mut self, grant: Granted, rules: &Rules) {
        self.leaving.retain(|leaving| leaving.0 != grant.ticket);
        self.mine = Some(Mine {
            last: grant.counter,
            ..Mine::new(grant.ticket, false)
        });
        self.granted(grant.token, grant.counter, rules.validity(grant.hold, 0));
    }

    fn granted(&mut self, token: Token, counter: u8, left: u8) {
        let Some(mine) = &mut self.mine else { return };
        mine.executed(counter);
        mine.phase = Phase::Holds {
            token,
            granted: counter,
            left,
            inside: true,
        };
        self.pen = Some(token);
    }
}
