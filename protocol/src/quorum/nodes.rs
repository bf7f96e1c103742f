//! [`Nodes`]: the servers of the quorum: whether they can be reached, the requests to each, and pending releases.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use super::env::{Env, Name};
use super::input::Effect;
use super::votes::{Votes, majority};
use crate::{
    Closed, Instant, Limits, Message, NodeChange, Op, Request, RequestId, StoreError,
    StoreErrorKind, Ticket,
};

/// A number that no job has.
pub(super) const NOBODY: u64 = 0;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct PendingRelease<N> {
    name: N,
    park_until: Instant,
    /// A copy of an acquire, or of this release, may still arrive at any time.
    tomb: bool,
    used: u64,
    until: Instant,
    in_flight: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Node<N> {
    pub(super) down: Option<StoreError>,
    pub(super) closed: Option<Closed>,
    pub(super) pending: BTreeMap<Ticket, PendingRelease<N>>,
    /// How many pending releases were dropped since the node was last reachable, because there were too many.
    pub(super) dropped: u64,
    retry: Option<Instant>,
}

impl<N> Node<N> {
    pub(super) fn new(down: Option<StoreError>) -> Self {
        Self {
            down,
            closed: None,
            pending: BTreeMap::new(),
            dropped: 0,
            retry: None,
        }
    }

    /// When refused releases are sent again.
    pub(super) fn retry(&self) -> Option<Instant> {
        self.retry
    }
}

/// Some of the nodes, of which there are at most 15: the others' bits are zero.
pub(super) struct Set(u32);

impl Set {
    pub(super) fn len(&self) -> usize {
        self.0.count_ones() as usize
    }
}

impl Iterator for Set {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let node = self.0.trailing_zeros();
        self.0 &= self.0.checked_sub(1)?;
        Some(node as usize)
    }
}

/// All nodes in a step, and what else the step depends on.
pub(super) struct Nodes<'a, 'b, N> {
    pub(super) now: Instant,
    pub(super) limits: &'b Limits,
    pub(super) env: &'a mut Env<'b>,
    pub(super) all: &'a mut [Node<N>],
    pub(super) effects: &'a mut Vec<Effect<N>>,
}

impl<'a, 'b, N> Nodes<'a, 'b, N> {
    pub(super) fn new(
        all: &'a mut [Node<N>],
        env: &'a mut Env<'b>,
        effects: &'a mut Vec<Effect<N>>,
    ) -> Self {
        Self {
            now: env.now,
            limits: env.limits,
            env,
            all,
            effects,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn majority(&self) -> usize {
        majority(self.len())
    }

    pub(super) fn indices(&self) -> Range<usize> {
        0..self.all.len()
    }

    pub(super) fn is_up(&self, node: usize) -> bool {
        self.all[node].down.is_none()
    }

    pub(super) fn those(&self, which: impl Fn(usize) -> bool) -> Set {
        let those = self.indices().filter(|node| which(*node));
        Set(those.fold(0, |set, node| set | 1 << node))
    }

    pub(super) fn reachable(&self) -> Set {
        self.those(|node| self.is_up(node))
    }

    pub(super) fn up(&self) -> usize {
        self.reachable().len()
    }

    pub(super) fn are_connected(&self) -> bool {
        self.up() >= self.majority()
    }

    /// Why and until when no majority of the nodes grants. `None` if a majority grants now, or cannot be reached.
    pub(super) fn closed(&self) -> Option<Closed> {
        let closed = self.reachable().filter_map(|node| self.all[node].closed);
        let mut closed: Vec<_> = closed.filter(|it| self.now < it.until).collect();
        closed.sort_by_key(|closed| closed.until);
        let open = self.up() - closed.len();
        let missing = self.majority().checked_sub(open + 1)?;
        closed.get(missing).copied()
    }

    pub(super) fn report(&mut self, change: NodeChange) {
        self.effects.push(Effect::Change(change));
    }

    pub(super) fn disconnected(&self) -> StoreError {
        StoreError::disconnected(self.cause(self.majority()))
    }

    pub(super) fn unreachable(&self, enough: usize) -> StoreError {
        if !self.are_connected() {
            return self.disconnected();
        }
        // Not a disconnection, after which the member would wait for a reconnect although a majority is connected.
        StoreError::new(StoreErrorKind::Busy, self.cause(enough))
    }

    pub(super) fn trouble(&self, votes: &Votes, enough: usize) -> StoreError {
        let trouble = votes.trouble().cloned();
        trouble.unwrap_or_else(|| self.unreachable(enough))
    }

    fn cause(&self, enough: usize) -> String {
        let (up, all) = (self.up(), self.len());
        let down = self.all.iter().find_map(|node| node.down.as_ref());
        let cause = down.map(|error| format!(": {error}")).unwrap_or_default();
        let few = format!("fewer than {enough} of {all} servers have answered");
        match up {
            _ if up < enough => {
                format!("{up} of {all} servers can be reached, {enough} are needed{cause}")
            }
            _ if up < all => format!("{few}, and {up} can be reached{cause}"),
            _ => few,
        }
    }
}

impl<N: Name> Nodes<'_, '_, N> {
    pub(super) fn note_up(&mut self, node: usize) {
        self.all[node].down = None;
        self.all[node].dropped = 0;
        self.send_pending(node, usize::MAX);
    }

    pub(super) fn tell(&mut self, name: &N, message: Message) {
        let name = name.clone();
        self.effects.push(Effect::Tell { name, message });
    }

    pub(super) fn send(&mut self, node: usize, job: u64, name: &N, op: Op) {
        let request = Request {
            name: name.clone(),
            op,
            id: RequestId(job),
        };
        self.effects.push(Effect::Send { node, request });
    }

    pub(super) fn release(&mut self, node: usize, job: u64, name: &N, op: Op) {
        if self.is_up(node) {
            self.send(node, job, name, op);
        } else {
            self.add_pending(node, name, &op, false);
        }
    }

    /// With `refused`, the node has answered but keeps the ticket.
    pub(super) fn add_pending(&mut self, node: usize, name: &N, op: &Op, refused: bool) {
        let now = self.now;
        let &Op::Release {
            ticket,
            park,
            tomb,
            used,
        } = op
        else {
            return;
        };
        let Node {
            pending,
            dropped,
            retry,
            ..
        } = &mut self.all[node];
        let mut until = Instant::NEVER;
        if refused {
            until = now.after(self.limits.longest_lease);
            retry.get_or_insert(now.after(self.limits.quorum.retry.0));
        }
        if pending.len() >= self.limits.quorum.most_pending {
            pending.retain(|_, release| now < release.until);
        }
        if let Some(release) = pending.get_mut(&ticket) {
            release.tomb |= tomb;
            release.in_flight = false;
            // Another refusal changes nothing. After a lost connection, a copy of an acquire may arrive at any time.
            if until == Instant::NEVER {
                release.until = until;
            }
        } else if pending.len() < self.limits.quorum.most_pending {
            let release = PendingRelease {
                name: name.clone(),
                park_until: now.after(park),
                tomb,
                used,
                until,
                in_flight: false,
            };
            pending.insert(ticket, release);
        } else {
            *dropped += 1;
            let releases = *dropped;
            if releases.is_power_of_two() {
                self.effects.push(Effect::Dropped { node, releases });
            }
        }
    }

    fn send_pending(&mut self, node: usize, most: usize) {
        let (now, state) = (self.now, &mut self.all[node]);
        state.pending.retain(|_, release| now < release.until);
        let pending = state.pending.iter_mut();
        let mut waiting = pending.filter(|(_, release)| !release.in_flight);
        for (ticket, release) in waiting.by_ref().take(most) {
            release.in_flight = true;
            let op = Op::Release {
                ticket: *ticket,
                park: now.until(release.park_until),
                tomb: release.tomb,
                used: release.used,
            };
            let request = Request {
                name: release.name.clone(),
                op,
                id: RequestId(NOBODY),
            };
            self.effects.push(Effect::Send { node, request });
        }
        let again = now.after(self.limits.quorum.retry.0);
        state.retry = waiting.next().map(|_| again);
    }

    pub(super) fn retry(&mut self) {
        let now = self.now;
        for node in self.indices() {
            let due = self.all[node].retry.take_if(|retry| *retry <= now);
            if due.is_some() && self.is_up(node) {
                self.send_pending(node, self.limits.quorum.retry.1);
            }
        }
    }
}
