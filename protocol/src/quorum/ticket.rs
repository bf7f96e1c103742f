//! [`TicketState`]: the state of one ticket of this member, in total and on each node.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::acquire::kept_units;
use super::env::Name;
use super::job::Job;
use super::limits::Limits;
use super::nodes::{NOBODY, Nodes};
use super::votes::needed;
use crate::{Instant, Lease, Mode, Op, Request, Share, SharedStr, Ticket};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct TicketState<N> {
    pub(super) name: N,
    pub(super) share: Share,
    pub(super) adopts: Option<Ticket>,
    pub(super) mode: Mode,
    pub(super) meta: SharedStr,
    pub(super) lease: Lease,
    pub(super) phase: Phase,
    pub(super) on: Vec<OnNode>,
    pub(super) job: Option<u64>,
    pub(super) later: VecDeque<Request<N>>,
    pub(super) asked: Instant,
    pub(super) rounds: u32,
    /// `None` while the ticket is not waiting for a release there.
    pub(super) wake_queue: Option<N>,
    pub(super) woken: bool,
    /// Consecutive rounds that nobody seems to have won.
    pub(super) collisions: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Phase {
    Wanting,
    Held(u64),
    Listening,
    /// Notified by this node, with a signal of this text.
    Notified(usize, Arc<str>),
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct OnNode {
    /// Whether an acquire was sent, and since then neither a release nor a refusal by the node.
    pub(super) open: bool,
    /// Whether an acquire was sent on a connection that broke, so that a copy may arrive at any time.
    pub(super) late: bool,
    pub(super) unanswered: u32,
    /// Whether a tombstone refuses the ticket from now on.
    pub(super) tombed: bool,
    pub(super) acquired: u64,
    /// When its place in the node's wake queue was last renewed.
    pub(super) queued: Option<Instant>,
    pub(super) wake: Option<u64>,
    pub(super) lost: bool,
    /// The token of the last grant that came as a message.
    pub(super) last_grant: u64,
}

impl OnNode {
    /// Whether it may hold now, or when a late copy arrives.
    pub(super) fn may_hold(&self) -> bool {
        self.open || self.late
    }

    /// Returns whether the release must leave a tombstone, because an acquire may reach the node later.
    pub(super) fn release(&mut self, is_up: bool) -> bool {
        let tomb = self.late || !is_up && self.unanswered > 0;
        (self.open, self.late, self.lost) = (false, false, false);
        self.tombed |= tomb;
        tomb
    }
}

impl<N: Name> TicketState<N> {
    pub(super) fn new(request: &Request<N>, nodes: usize) -> Option<Self> {
        let (share, adopts, mode, meta) = match &request.op {
            Op::Acquire {
                share, mode, meta, ..
            } => (*share, None, *mode, meta),
            // Only mutexes can be adopted.
            Op::Adopt { old, meta, .. } => (Share::MUTEX, Some(*old), Mode::Try, meta),
            _ => return None,
        };
        Some(Self {
            name: request.name.clone(),
            share,
            adopts,
            mode,
            meta: meta.clone(),
            lease: request.op.lease()?,
            phase: Phase::Wanting,
            on: (0..nodes).map(|_| OnNode::default()).collect(),
            job: None,
            later: VecDeque::new(),
            asked: Instant::START,
            rounds: 0,
            wake_queue: None,
            woken: false,
            collisions: 0,
        })
    }

    pub(super) fn needed(&self) -> usize {
        needed(self.on.len(), &self.share)
    }

    pub(super) fn listens(&self) -> bool {
        self.share.capacity == 0
    }

    pub(super) fn open(&self) -> usize {
        self.on.iter().filter(|on| on.open).count()
    }

    /// Whether its lock was adopted elsewhere, or the ticket was forgotten, because all leases have ended.
    pub(super) fn is_forsaken(&self, now: Instant, limits: &Limits) -> bool {
        let longest = self.lease.hold.max(self.lease.place) + limits.silent;
        let is_idle = self.job.is_none() && self.later.is_empty();
        let asks = matches!(self.phase, Phase::Wanting | Phase::Held(_));
        is_idle && asks && self.asked.until(now) > longest
    }

    /// Whether the member should continue with a new ticket.
    pub(super) fn is_worn(&self) -> bool {
        self.on.iter().any(|on| on.tombed)
    }

    pub(super) fn acquire_on(&mut self, nodes: &mut Nodes<'_, '_, N>, node: usize, job: u64) {
        let on = &mut self.on[node];
        (on.open, on.lost, on.acquired) = (true, false, self.lease.counter);
        on.unanswered += 1;
        nodes.send(node, job, &self.name, self.acquire());
    }

    /// A node that has lost the ticket is asked to take it again, but doesn't count in this job: in the meantime it may
    /// have granted to, or notified, another ticket.
    pub(super) fn touch_on(&mut self, nodes: &mut Nodes<'_, '_, N>, node: usize, job: &mut Job<N>) {
        if self.on[node].open {
            let (lease, units) = (self.lease, kept_units(&job.request));
            job.ask(nodes, node, Op::Touch { lease, units });
        } else if !self.on[node].tombed {
            self.acquire_on(nodes, node, NOBODY);
        }
    }

    fn acquire(&self) -> Op {
        let lease = self.lease;
        let meta = self.meta.clone();
        match self.adopts {
            Some(old) => Op::Adopt { old, lease, meta },
            None => Op::Acquire {
                lease,
                share: self.share,
                mode: if self.listens() { self.mode } else { Mode::Try },
                meta,
            },
        }
    }

    pub(super) fn join_wake_queue(&mut self) -> N {
        let queue = || self.name.wake_queue();
        self.wake_queue.get_or_insert_with(queue).clone()
    }
}

pub(super) fn find<'a, N>(
    tickets: &'a mut BTreeMap<Ticket, TicketState<N>>,
    request: &Request<N>,
) -> Option<&'a mut TicketState<N>> {
    tickets.get_mut(&request.op.ticket()?)
}
