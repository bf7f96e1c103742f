//! [`TicketState`]: the state of one ticket of this member, as a whole and on each node.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use auto_mutex_core::store::{
    Instant, Lease, Mode, Name, Op, Request, Share, SharedStr, Ticket, TicketMap,
};

use super::votes::needed;
use super::wake_queue::wake_queue;

/// Longer than the pause between two rounds of a waiter.
const SILENT: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(super) struct TicketState {
    pub(super) name: Name,
    pub(super) share: Share,
    /// The ticket whose hold this ticket takes over.
    pub(super) adopts: Option<Ticket>,
    pub(super) mode: Mode,
    pub(super) meta: SharedStr,
    /// The lease of the last request.
    pub(super) lease: Lease,
    pub(super) phase: Phase,
    pub(super) on: Vec<OnNode>,
    /// The running job of this ticket; the next job begins when this one has ended.
    pub(super) job: Option<u64>,
    /// The ticket's requests that arrived while the job was running.
    pub(super) later: VecDeque<Request>,
    /// When the last request began.
    pub(super) asked: Instant,
    /// How many rounds the last request has had.
    pub(super) rounds: u32,
    /// The queue in which the ticket waits for a release; `None` while it does not wait there.
    pub(super) wake_queue: Option<Name>,
    /// Whether a node has reported a release since the last round began.
    pub(super) woken: bool,
    /// For how many rounds in a row it seems that no ticket got enough nodes.
    pub(super) collisions: u32,
    /// How often the ticket's `expire` was restarted: the maximum over the nodes.
    pub(super) refreshed: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// The ticket has no grants, or too few.
    Wanting,
    /// Enough nodes have granted the ticket; the value is the token.
    Held(u64),
    Listening,
    /// This node has notified the ticket, with a signal of this text.
    Notified(usize, Arc<str>),
}

#[derive(Debug, Default)]
pub(super) struct OnNode {
    /// Whether an acquire was sent, and since then no release; nor has the node refused the ticket.
    pub(super) open: bool,
    /// Whether an acquire was sent on a connection that broke before the answer: a copy may arrive at any time.
    pub(super) late: bool,
    /// How many acquires are not answered yet.
    pub(super) unanswered: u32,
    /// Whether a release left a tombstone on the node: the node refuses the ticket from now on.
    pub(super) tombed: bool,
    /// The counter of the last acquire.
    pub(super) acquired: u64,
    /// When the ticket last joined the wake queue of the node, or renewed its place there; `None` without a place.
    pub(super) queued: Option<Instant>,
    /// The token of the signal with which the node woke the ticket.
    pub(super) wake: Option<u64>,
    /// Whether the hold was broken by force on the node.
    pub(super) lost: bool,
    /// How often the ticket's `expire` was restarted on the node.
    pub(super) refreshed: u32,
}

impl OnNode {
    /// Whether the ticket may hold on the node, now or when a late copy arrives.
    pub(super) fn may_hold(&self) -> bool {
        self.open || self.late
    }

    /// Records a release. Returns whether the release must leave a tombstone, because an acquire may reach the node later.
    pub(super) fn release(&mut self, is_up: bool) -> bool {
        let tomb = self.late || !is_up && self.unanswered > 0;
        (self.open, self.late, self.lost) = (false, false, false);
        self.tombed |= tomb;
        tomb
    }
}

impl TicketState {
    /// The state for an acquire or an adoption; `None` for other requests.
    pub(super) fn new(request: &Request, nodes: usize) -> Option<Self> {
        let (share, adopts, mode, meta) = match &request.op {
            Op::Acquire {
                share, mode, meta, ..
            } => (share.clone(), None, *mode, meta),
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
            refreshed: 0,
        })
    }

    pub(super) fn begin(&mut self, op: &Op, now: Instant) {
        if let Some(lease) = op.lease() {
            self.lease = lease;
        }
        (self.asked, self.rounds) = (now, 0);
    }

    /// How many nodes must have granted the ticket before it is held.
    pub(super) fn needed(&self) -> usize {
        needed(self.on.len(), &self.share)
    }

    /// Whether the ticket waits for a notification, or has one.
    pub(super) fn listens(&self) -> bool {
        self.share.capacity == 0
    }

    /// On how many nodes the ticket may hold.
    pub(super) fn open(&self) -> usize {
        self.on.iter().filter(|on| on.open).count()
    }

    /// Whether all its leases and places have ended: the lock was adopted elsewhere, or the ticket is forgotten here.
    pub(super) fn is_forsaken(&self, now: Instant) -> bool {
        let longest = self.lease.hold.max(self.lease.place) + SILENT;
        let is_idle = self.job.is_none() && self.later.is_empty();
        let asks = matches!(self.phase, Phase::Wanting | Phase::Held(_));
        is_idle && asks && self.asked.until(now) > longest
    }

    /// Whether the member should continue with a new ticket, because a release of this one has left a tombstone on some node.
    pub(super) fn is_worn(&self) -> bool {
        self.on.iter().any(|on| on.tombed)
    }

    pub(super) fn acquire(&self) -> Op {
        let lease = self.lease;
        let meta = self.meta.clone();
        match self.adopts {
            Some(old) => Op::Adopt { old, lease, meta },
            None => Op::Acquire {
                lease,
                share: self.share.clone(),
                mode: if self.listens() { self.mode } else { Mode::Try },
                meta,
            },
        }
    }

    pub(super) fn touch(&self, units: u32) -> Op {
        Op::Touch {
            lease: self.lease,
            units,
        }
    }

    /// Notes that the ticket waits for a release in the wake queue of its name. Returns the queue's name.
    pub(super) fn join_wake_queue(&mut self) -> Name {
        let name = &self.name;
        self.wake_queue
            .get_or_insert_with(|| wake_queue(name))
            .clone()
    }
}

pub(super) fn find<'a>(
    tickets: &'a mut TicketMap<TicketState>,
    request: &Request,
) -> Option<(Ticket, &'a mut TicketState)> {
    let ticket = request.op.ticket()?;
    Some((ticket, tickets.get_mut(&ticket)?))
}
