//! Waiting for a release. On each node, a ticket waits for a signal in the wake queue of its name. Each release wakes
//! the first ticket in that queue. If a woken waiter dies without claiming its signal, the next waiter gets it.

use super::Step;
use super::env::Name;
use super::nodes::{NOBODY, Nodes};
use super::release::release_op;
use super::ticket::{Phase, TicketState};
use crate::{Instant, Lease, Message, Mode, Op, Share, Signal, Ticket};

impl<N: Name> TicketState<N> {
    /// Uses up a signal that the ticket already got there.
    pub(super) fn queue_on(&mut self, nodes: &mut Nodes<'_, '_, N>, node: usize) {
        let (ticket, queue) = (self.lease.ticket, self.join_wake_queue());
        let place = self.lease.place.max(nodes.limits.quorum.place);
        let on = &mut self.on[node];
        if let Some(used) = on.wake.take() {
            on.queued = None;
            nodes.send(node, NOBODY, &queue, release_op(ticket, false, used));
        }
        // Up to a third of the lifetime may pass until the next round.
        let fresh = |since: Instant| since.until(nodes.now) < place / 3;
        if on.queued.is_some_and(fresh) {
            return;
        }
        on.queued = Some(nodes.now);
        let op = Op::Acquire {
            lease: Lease::of(ticket, self.lease.counter, place),
            share: Share {
                units: self.share.units,
                ..Share::NOTIFICATION
            },
            mode: Mode::Queue,
            meta: self.meta.clone(),
        };
        nodes.send(node, NOBODY, &queue, op);
    }

    /// Signals that the ticket got but has not `used` go to other waiters.
    pub(super) fn leave_wake_queue(&mut self, nodes: &mut Nodes<'_, '_, N>, used: bool) {
        let Some(queue) = self.wake_queue.take() else {
            return;
        };
        for (node, on) in self.on.iter_mut().enumerate() {
            let wake = on.wake.take();
            if on.queued.take().is_some() || wake.is_some() {
                let token = wake.filter(|_| used).unwrap_or(0);
                let op = release_op(self.lease.ticket, false, token);
                nodes.send(node, NOBODY, &queue, op);
            }
        }
    }
}

impl<N: Name> Step<'_, '_, N> {
    pub(super) fn wake_one(&mut self, name: &N) {
        let queue = name.wake_queue();
        self.note_release(&queue);
        for node in self.nodes.reachable() {
            let op = Op::Signal {
                ticket: self.nodes.env.ticket(),
                signal: Signal::One,
            };
            self.nodes.send(node, NOBODY, &queue, op);
        }
    }

    /// The node has reconnected, perhaps after a restart.
    pub(super) fn look_after_places(&mut self, node: usize) {
        for state in self.rounds.tickets.values_mut() {
            if let Some(since) = &mut state.on[node].queued {
                *since = Instant::START;
            }
        }
    }

    pub(super) fn woken(&mut self, node: usize, ticket: Ticket, token: u64) {
        let state = self.rounds.tickets.get_mut(&ticket);
        let Some(state) = state.filter(|state| state.wake_queue.is_some()) else {
            return;
        };
        state.on[node].wake = Some(token);
        if core::mem::replace(&mut state.woken, true) || state.phase != Phase::Wanting {
            return;
        }
        match state.job {
            None => {
                self.nodes.tell(&state.name, Message::Ask { ticket });
            }
            Some(number) => self.end_pause(number),
        }
    }
}
