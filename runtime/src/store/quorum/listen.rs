//! Waiting for a notification: the ticket queues on every node, and the first that notifies it wakes it. A notification
//! reaches a majority of the nodes and so at least one on which it waits.
//!
//! One notification comes from every node, with the same text: it counts once. What comes of another one, or after the
//! ticket has gone, goes to the next waiter of that node.

use std::sync::Arc;
use std::time::Duration;

use super::enough::majority;
use super::entry::Phase;
use super::nodes::Purpose;
use super::state::{Due, Job, Quorum};
use super::votes::{Vote, Votes, is_granted};
use crate::store::{Answer, Message, Op, Reply, Request, Ticket};

/// How long the other nodes have to tell of the same notification.
const LATER: Duration = Duration::from_millis(250);

#[derive(Debug)]
pub(super) struct Listen {
    pub(super) request: Request,
    ticket: Ticket,
    pub(super) votes: Votes,
}

impl Quorum {
    /// An acquire or a touch of a ticket that waits for a notification, or has one.
    pub(super) fn listen(&mut self, request: Request, ticket: Ticket) {
        let number = self.number();
        let mut votes = Votes::new(self.nodes.len());
        let touches = matches!(request.op, Op::Touch { .. });
        for node in self.nodes.indices() {
            let Some(entry) = self.tickets.get_mut(&ticket) else {
                return;
            };
            let only = match entry.phase {
                Phase::Notified(by, _) => by == node,
                _ => true,
            };
            if !only || !self.nodes.is_up(node) {
                continue;
            }
            if entry.at[node].open && touches {
                votes.ask(node);
                let op = entry.touch(ticket, 0);
                self.nodes
                    .send(node, Purpose::main(number), &entry.name, op);
            } else if touches {
                // A place that was lost does not count: a notification may have passed it.
                self.acquire_at(node, ticket, Purpose::NOBODY);
            } else {
                votes.ask(node);
                self.acquire_at(node, ticket, Purpose::main(number));
            }
        }
        if let Some(entry) = self.tickets.get_mut(&ticket) {
            entry.job = Some(number);
            if entry.phase == Phase::Wanting {
                entry.phase = Phase::Listening;
            }
        }
        let listen = Listen {
            request,
            ticket,
            votes,
        };
        self.decide_listening(number, listen);
    }

    pub(super) fn decide_listening(&mut self, number: u64, listen: Listen) {
        let most = majority(self.nodes.len());
        let ticket = listen.ticket;
        let votes = &listen.votes;
        let Some(entry) = self.tickets.get(&ticket) else {
            return self.answer(listen.request, Ok(Reply::Gone));
        };
        let by = match &entry.phase {
            Phase::Notified(by, _) => Some(*by),
            _ => self
                .nodes
                .indices()
                .find(|&node| matches!(votes.of(node), Vote::Said(reply) if is_granted(reply))),
        };
        // Its node takes itself for closed, and does not let it be claimed: it may go to somebody else, and this ticket waits nowhere else.
        let lost = by
            .is_some_and(|by| matches!(votes.of(by), Vote::Said(reply) if place(reply).is_some()));
        let result = if let Some(by) = by {
            match votes.of(by) {
                Vote::Awaited => None,
                Vote::Said(_) if lost => Some(Ok(Reply::Gone)),
                Vote::Said(reply) => Some(Ok(reply.clone())),
                Vote::Failed(_) | Vote::None => Some(Err(self.unreachable(most))),
            }
        } else {
            let places = votes.replies().filter_map(place);
            let waiting = places.clone().count();
            let refusal = votes.replies().find(|reply| place(reply).is_none());
            if waiting >= most {
                let position = places.clone().map(|place| place.0).min().unwrap_or(1);
                let again = places.map(|place| place.1).min().unwrap_or_default();
                let holder = None;
                Some(Ok(Reply::Queued {
                    position,
                    again,
                    holder,
                }))
            } else if waiting + votes.awaited() >= most {
                None
            } else if votes.said() >= most {
                Some(Ok(refusal.cloned().unwrap_or(Reply::Gone)))
            } else {
                let trouble = votes.trouble().cloned();
                Some(Err(trouble.unwrap_or_else(|| self.unreachable(most))))
            }
        };
        let Some(result) = result else {
            self.jobs.insert(number, Job::Listen(listen));
            return;
        };
        let forgotten = matches!(
            &result,
            Ok(Reply::Gone | Reply::Refused | Reply::Mismatch { .. } | Reply::TooMany)
        );
        self.answer(listen.request, result);
        if forgotten && (by.is_none() || lost) {
            self.withdraw(ticket);
        } else if let Some(entry) = self.tickets.get_mut(&ticket) {
            entry.job = None;
            self.go_on(ticket);
        }
    }

    /// An answer granted a notification to `ticket`.
    pub(super) fn note_notified(&mut self, node: usize, ticket: Ticket, answer: &Answer) {
        if let Ok(Reply::Granted { token, signal }) = &answer.result {
            let signal = signal.clone().unwrap_or_default();
            self.notified(node, ticket, (*token, signal), None);
        }
    }

    /// A node notified `ticket`, with a signal of this token and text.
    pub(super) fn notified(
        &mut self,
        node: usize,
        ticket: Ticket,
        (token, signal): (u64, Arc<str>),
        message: Option<Message>,
    ) {
        let Some(entry) = self.tickets.get_mut(&ticket) else {
            return;
        };
        entry.at[node].token = token;
        match &entry.phase {
            Phase::Listening => {
                entry.phase = Phase::Notified(node, signal);
                let name = entry.name.clone();
                if let Some(message) = message {
                    self.tell(name, message);
                }
            }
            Phase::Notified(by, _) if *by == node => {}
            Phase::Notified(_, known) => {
                let used = if *known == signal { token } else { 0 };
                self.withdraw_at(node, ticket, used);
            }
            Phase::Wanting | Phase::Held(_) => {}
        }
    }

    /// The member has done with what it waited for; `used`: the token of the notification that it has used.
    pub(super) fn leave_listening(&mut self, request: Request, ticket: Ticket, used: u64) {
        let number = self.number();
        let mut votes = Votes::new(self.nodes.len());
        let mut owed = 0;
        let notified = self
            .tickets
            .get(&ticket)
            .and_then(|entry| match entry.phase {
                Phase::Notified(by, _) if used > 0 => Some(by),
                _ => None,
            });
        for node in self.nodes.indices() {
            let is_open = self
                .tickets
                .get(&ticket)
                .is_some_and(|entry| entry.at[node].open);
            if notified.is_none_or(|by| by == node) && is_open {
                match self.nodes.is_up(node) {
                    true => votes.ask(node),
                    false => owed += 1,
                }
                self.release_at(node, ticket, used, Purpose::main(number));
            }
        }
        match notified {
            // The others may be about to tell of it too.
            Some(_) => drop(self.arm(self.now.after(LATER), Due::Withdraw(ticket))),
            None => drop(self.tickets.remove(&ticket)),
        }
        let release = super::release::Release::new(request, votes, owed, notified.is_some());
        self.decide_release(number, release);
    }

    /// The ticket leaves the nodes where it still waits.
    pub(super) fn withdraw(&mut self, ticket: Ticket) {
        for node in self.nodes.indices() {
            self.withdraw_at(node, ticket, 0);
        }
        self.tickets.remove(&ticket);
    }

    fn withdraw_at(&mut self, node: usize, ticket: Ticket, used: u64) {
        if self
            .tickets
            .get(&ticket)
            .is_some_and(|entry| entry.at[node].open)
        {
            self.release_at(node, ticket, used, Purpose::NOBODY);
        }
    }

    /// A node can be reached again: who waits there for a notification may have missed the word of it.
    pub(super) fn listen_again(&mut self, node: usize) {
        let waits =
            |entry: &super::entry::Entry| entry.phase == Phase::Listening && entry.at[node].open;
        let waiting: Vec<_> = self
            .tickets
            .iter()
            .filter(|(_, entry)| waits(entry))
            .map(|(ticket, entry)| (entry.name.clone(), *ticket))
            .collect();
        for (name, ticket) in waiting {
            self.tell(name, Message::Ask { ticket });
        }
    }
}

/// The place of one that waits, and when it should ask again.
fn place(reply: &Reply) -> Option<(u64, Duration)> {
    match reply {
        Reply::Queued {
            position, again, ..
        } => Some((*position, *again)),
        _ => None,
    }
}
