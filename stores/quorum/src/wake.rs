//! Waiting for a release. On each node, a ticket waits for a signal in the wake queue of its name. Each release wakes the
//! first ticket in that queue. If a woken waiter dies and does not claim its signal, the signal goes to the next waiter.

use std::time::Duration;

use auto_mutex_core::store::{
    Answer, Instant, Lease, Message, Mode, Name, Op, Reply, Share, Signal, Ticket,
};

use super::machine::Quorum;
use super::nodes::NOBODY;
use super::release::release_op;
use super::ticket::Phase;
use super::wake_queue::wake_queue;

/// The minimum lifetime of a place in a wake queue. It is longer than the pause between two rounds.
const PLACE: Duration = Duration::from_secs(4);

impl Quorum {
    /// Makes sure that `ticket` is in the wake queue of `node`, after it has used up a signal that it got there.
    pub(super) fn queue_on(&mut self, node: usize, ticket: Ticket) {
        let Some(state) = self.tickets.get_mut(&ticket) else {
            return;
        };
        let queue = state.join_wake_queue();
        let place = state.lease.place.max(PLACE);
        let on = &mut state.on[node];
        if let Some(used) = on.wake.take() {
            on.queued = None;
            self.nodes
                .send(node, NOBODY, &queue, release_op(ticket, false, used));
        }
        // A place is renewed after a third of its lifetime, so that it lasts until the next round.
        let fresh = |since: Instant| since.until(self.now) < place / 3;
        if on.queued.is_some_and(fresh) {
            return;
        }
        on.queued = Some(self.now);
        let op = Op::Acquire {
            lease: Lease::of(ticket, state.lease.counter, place),
            share: Share {
                units: state.share.units,
                ..Share::NOTIFICATION
            },
            mode: Mode::Queue,
            meta: state.meta.clone(),
        };
        self.nodes.send(node, NOBODY, &queue, op);
    }

    /// Takes `ticket` out of its wake queue on all nodes. Signals that it got but has not `used` go to other waiters.
    pub(super) fn leave_wake_queue(&mut self, ticket: Ticket, used: bool) {
        let Some(state) = self.tickets.get_mut(&ticket) else {
            return;
        };
        let Some(queue) = state.wake_queue.take() else {
            return;
        };
        for node in self.nodes.indices() {
            let on = &mut state.on[node];
            let wake = on.wake.take();
            if on.queued.take().is_some() || wake.is_some() {
                let token = wake.filter(|_| used).unwrap_or(0);
                self.nodes
                    .send(node, NOBODY, &queue, release_op(ticket, false, token));
            }
        }
    }

    /// Wakes the first waiter for `name` on each reachable node.
    pub(super) fn wake_one(&mut self, name: &Name) {
        let queue = wake_queue(name);
        self.note_release(&queue);
        for node in self.nodes.indices() {
            if self.nodes.is_up(node) {
                let op = Op::Signal {
                    ticket: Ticket::random(),
                    signal: Signal::One,
                };
                self.nodes.send(node, NOBODY, &queue, op);
            }
        }
    }

    /// Makes the next round of each ticket renew its place on `node`. The node has reconnected, and may have been restarted.
    pub(super) fn look_after_places(&mut self, node: usize) {
        for state in self.tickets.values_mut() {
            if let Some(since) = &mut state.on[node].queued {
                *since = Instant::START;
            }
        }
    }

    pub(super) fn note_place(&mut self, node: usize, ticket: Ticket, answer: &Answer) {
        if !matches!(answer.request.op, Op::Acquire { .. }) {
            return;
        }
        match answer.result {
            Ok(Reply::Granted { token, .. }) => self.woken(node, ticket, token),
            Ok(Reply::Queued { .. }) => {}
            _ => {
                if let Some(state) = self.tickets.get_mut(&ticket) {
                    state.on[node].queued = None;
                }
            }
        }
    }

    /// `token`: that of the signal with which `node` wakes `ticket` after a release.
    pub(super) fn woken(&mut self, node: usize, ticket: Ticket, token: u64) {
        let Some(state) = self.tickets.get_mut(&ticket) else {
            return;
        };
        if state.wake_queue.is_none() {
            return;
        }
        state.on[node].wake = Some(token);
        if std::mem::replace(&mut state.woken, true) || state.phase != Phase::Wanting {
            return;
        }
        match state.job {
            None => {
                let name = state.name.clone();
                self.tell(&name, Message::Ask { ticket });
            }
            Some(number) => self.end_pause(number),
        }
    }
}
