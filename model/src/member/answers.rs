//! How a member handles a reply or a message.

use super::{Member, Mine, Phase};
use crate::network::{Answer, Connection, Message, Reply, Token, Verb};
use crate::rules::{Rules, Safeguard};

/// The content of a grant.
struct Granted {
    token: Token,
    counter: u8,
    left: u8,
}

impl Member {
    /// Handles a reply.
    pub fn answered(&mut self, me: u8, answer: Answer, connection: &mut Connection, rules: &Rules) {
        let ticket = answer.request.ticket;
        let counter = match answer.request.verb {
            Verb::Release { .. } => {
                self.leaving.retain(|leaving| leaving.0 != ticket);
                return;
            }
            Verb::Acquire { counter } | Verb::Touch { counter } => counter,
        };
        let Some(mine) = self.mine.as_ref().filter(|mine| mine.ticket == ticket) else {
            return;
        };
        let age = mine.age(counter);
        let age = if rules.keeps(Safeguard::SendingTime) {
            age
        } else {
            Some(0)
        };
        let left = age.map_or(0, |age| rules.validity(rules.lease, age));
        match mine.phase {
            Phase::Waits { .. } => {
                self.answered_waiting(me, counter, left, answer.reply, connection);
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
    ) {
        let Some(mine) = &mut self.mine else { return };
        match reply {
            Reply::Granted(token) if left > 0 => self.granted(&Granted {
                token,
                counter,
                left,
            }),
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
                self.enter(me, connection);
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
        match reply {
            Reply::Granted(same) if same == *token || !rules.keeps(Safeguard::SameToken) => {
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
        let Message {
            ticket,
            counter,
            token,
        } = message;
        let waits =
            |mine: &&Mine| mine.ticket == ticket && matches!(mine.phase, Phase::Waits { .. });
        let Some(mine) = self.mine.as_ref().filter(waits) else {
            if !rules.keeps(Safeguard::WaitingTicket) && self.mine.is_none() {
                self.believe_anyway(message, rules);
            }
            return;
        };
        // The member considers the store closed, so it ignores the grant.
        if self.closed > 0 {
            return;
        }
        let fresh = rules.keeps(Safeguard::FreshGrant);
        let age = if fresh { mine.age(counter) } else { Some(0) };
        let left = age.map_or(0, |age| rules.claim_validity(age));
        if left > 0 {
            self.granted(&Granted {
                token,
                counter,
                left,
            });
        } else if connection.under_way(ticket) < usize::from(rules.pipeline) {
            self.ask(connection);
        }
    }

    /// Without the rule `WaitingTicket`, a member without a ticket accepts every grant that arrives.
    fn believe_anyway(&mut self, message: Message, rules: &Rules) {
        self.leaving.retain(|leaving| leaving.0 != message.ticket);
        self.mine = Some(Mine {
            ticket: message.ticket,
            sent: Vec::new(),
            last: message.counter,
            late: false,
            phase: Phase::Waits { queued: true },
        });
        self.granted(&Granted {
            token: message.token,
            counter: message.counter,
            left: rules.claim_validity(0),
        });
    }

    fn granted(&mut self, granted: &Granted) {
        let Some(mine) = &mut self.mine else { return };
        mine.executed(granted.counter);
        mine.phase = Phase::Holds {
            token: granted.token,
            granted: granted.counter,
            left: granted.left,
        };
        self.pen = Some(granted.token);
    }
}
