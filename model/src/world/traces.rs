//! Visits all tokens, tickets and counters in a world.

use super::World;
use crate::member::{Mine, Phase};
use crate::network::{Message, Ticket, Token, Verb};
use crate::store::Store;

fn tokens_of_store(store: &mut Store, visit: &mut impl FnMut(&mut Token)) {
    for record in &mut store.records {
        if let Some(lease) = &mut record.lease {
            visit(&mut lease.token);
            visit(&mut lease.first);
        }
    }
}

impl World {
    /// Visits every token in the world.
    pub(super) fn each_token(&mut self, mut visit: impl FnMut(&mut Token)) {
        tokens_of_store(&mut self.store, &mut visit);
        if let Some(replica) = &mut self.replica {
            tokens_of_store(replica, &mut visit);
        }
        for member in &mut self.members {
            if let Some(pen) = &mut member.pen {
                visit(pen);
            }
            if let Some(Mine {
                phase: Phase::Holds { token, .. },
                ..
            }) = &mut member.mine
            {
                visit(token);
            }
        }
        for connection in &mut self.connections {
            for answer in &mut connection.replies {
                if let crate::network::Reply::Granted(token) = &mut answer.reply {
                    visit(token);
                }
            }
            for message in &mut connection.messages {
                if let Message::Grant(grant) = message {
                    visit(&mut grant.token);
                }
            }
        }
        visit(&mut self.register);
        visit(&mut self.past.entered);
    }

    /// Visits every occurrence of a ticket of `me`, with its counter if there is one.
    pub(super) fn each_ticket(
        &mut self,
        me: u8,
        mut visit: impl FnMut(&mut Ticket, Option<&mut u8>),
    ) {
        for store in [Some(&mut self.store), self.replica.as_deref_mut()]
            .into_iter()
            .flatten()
        {
            for record in store
                .records
                .iter_mut()
                .filter(|record| record.ticket.member == me)
            {
                visit(&mut record.ticket, Some(&mut record.counter));
            }
            for gone in store.gone.iter_mut().filter(|gone| gone.0.member == me) {
                visit(&mut gone.0, None);
            }
        }
        let connection = &mut self.connections[usize::from(me)];
        let requests = connection.requests.iter_mut();
        let replies = connection
            .replies
            .iter_mut()
            .map(|answer| &mut answer.request);
        let late = connection.late.iter_mut().map(|late| &mut late.0);
        for request in requests.chain(replies).chain(late) {
            let counter = match &mut request.verb {
                Verb::Acquire(wish) | Verb::Touch(wish) => Some(&mut wish.counter),
                Verb::Release { .. } => None,
            };
            visit(&mut request.ticket, counter);
        }
        for message in &mut connection.messages {
            match message {
                Message::Recall(ticket) => visit(ticket, None),
                Message::Grant(grant) => visit(&mut grant.ticket, Some(&mut grant.counter)),
            }
        }
        let member = &mut self.members[usize::from(me)];
        for leaving in &mut member.leaving {
            visit(&mut leaving.0, None);
        }
        if let Some(mine) = &mut member.mine {
            visit(&mut mine.ticket, None);
        }
        if let Some(kept) = &mut member.kept {
            visit(kept, None);
        }
    }
}
