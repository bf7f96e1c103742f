//! Waiting for a release: a ticket queues on each node under a name beside the lock's, and each release wakes the first
//! there. Who is woken, and dies before it has looked, is passed over like everybody who does not claim a signal.

use std::time::Duration;

use super::entry::{Phase, beside};
use super::nodes::Purpose;
use super::owed::Leave;
use super::state::Quorum;
use crate::name::Name;
use crate::store::{Answer, Message, Mode, Op, Reply, Share, Signal, Ticket};

/// How long a place lasts at least: longer than the pause between two rounds.
const PLACE: Duration = Duration::from_secs(4);

impl Quorum {
    /// Sees to it that `ticket` queues on `node`; a signal that it got there is used up.
    pub(super) fn register(&mut self, node: usize, ticket: Ticket) {
        let Some(entry) = self.tickets.get_mut(&ticket) else {
            return;
        };
        let side = entry.side();
        let place = entry.want.place.max(PLACE);
        let at = &mut entry.at[node];
        if let Some(used) = at.wake.take() {
            at.place = None;
            self.nodes
                .send(node, Purpose::PLACE, &side, leave(ticket, used));
        }
        // It must last until the next look at it.
        let fresh = |since: crate::clock::Instant| since.until(self.now) < place / 3;
        if at.place.is_some_and(fresh) {
            return;
        }
        at.place = Some(self.now);
        let op = Op::Acquire {
            ticket,
            counter: entry.want.counter,
            share: Share {
                units: entry.want.share.units,
                takes: true,
                ..Share::of(1, 0)
            },
            hold: place,
            place,
            mode: Mode::Queue,
            meta: entry.want.meta.clone(),
        };
        self.nodes.send(node, Purpose::NOBODY, &side, op);
    }

    /// `ticket` waits no more. If it has not used what woke it, others are woken instead.
    pub(super) fn leave_side(&mut self, ticket: Ticket, used: bool) {
        let Some(entry) = self.tickets.get_mut(&ticket) else {
            return;
        };
        let Some(side) = entry.side.take() else {
            return;
        };
        for node in self.nodes.indices() {
            let at = &mut entry.at[node];
            let wake = at.wake.take();
            if at.place.take().is_some() || wake.is_some() {
                let token = wake.filter(|_| used).unwrap_or(0);
                self.nodes
                    .send(node, Purpose::PLACE, &side, leave(ticket, token));
            }
        }
    }

    /// Wakes the first who waits for `name`.
    pub(super) fn wake_one(&mut self, name: &Name) {
        let side = beside(name);
        self.crowds.released(&side, self.now);
        for node in self.nodes.indices() {
            if self.nodes.is_up(node) {
                let op = Op::Signal {
                    ticket: Ticket::random(),
                    signal: Signal::One,
                };
                self.nodes.send(node, Purpose::NOBODY, &side, op);
            }
        }
    }

    /// An answer to what was sent about the place of `ticket`.
    pub(super) fn note_side(&mut self, node: usize, ticket: Ticket, answer: &Answer) {
        let Some(entry) = self.tickets.get_mut(&ticket) else {
            return;
        };
        if !matches!(answer.request.op, Op::Acquire { .. }) {
            return;
        }
        match answer.result {
            Ok(Reply::Granted { token, .. }) => self.woken(node, ticket, token),
            Ok(Reply::Queued { .. }) => {}
            _ => entry.at[node].place = None,
        }
    }

    /// A node told `ticket` that somebody has released.
    pub(super) fn woken(&mut self, node: usize, ticket: Ticket, token: u64) {
        let Some(entry) = self.tickets.get_mut(&ticket) else {
            return;
        };
        if entry.side.is_none() {
            return;
        }
        entry.at[node].wake = Some(token);
        if std::mem::replace(&mut entry.woken, true) || entry.phase != Phase::Wanting {
            return;
        }
        match entry.job {
            None => {
                let name = entry.name.clone();
                self.tell(name, Message::Ask { ticket });
            }
            Some(number) => self.end_pause_now(number),
        }
    }
}

/// Gives the place up; `used` is the token of the signal that was used.
fn leave(ticket: Ticket, used: u64) -> Op {
    let plain = Leave::plain(ticket);
    Leave { used, ..plain }.op()
}
