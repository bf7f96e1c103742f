//! [`Entry`]: what is known of one ticket of this member, and on which nodes.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use crate::clock::Instant;
use crate::name::Name;
use crate::store::{Mode, Op, Request, Share, Text, Ticket};

/// A ticket, from its first acquire to its release.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) name: Name,
    pub(super) want: Want,
    pub(super) phase: Phase,
    pub(super) at: Vec<At>,
    /// The job that must end before the next one of this ticket begins.
    pub(super) job: Option<u64>,
    /// What was asked meanwhile.
    pub(super) later: VecDeque<Request>,
    /// Where it is told of releases; `None` until it waits.
    pub(super) side: Option<Name>,
    /// It was told of a release since the last round began.
    pub(super) woken: bool,
    /// Rounds in a row that nobody seems to have won.
    pub(super) collisions: u32,
    /// How often its `expire` was restarted by others.
    pub(super) refreshed: u32,
}

/// What was asked for last.
#[derive(Clone, Debug)]
pub(super) struct Want {
    pub(super) share: Share,
    /// The hold of another ticket is taken over.
    pub(super) adopts: Option<Ticket>,
    pub(super) counter: u64,
    pub(super) hold: Duration,
    pub(super) place: Duration,
    pub(super) mode: Mode,
    pub(super) meta: Text,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// It has nothing, or not enough.
    Wanting,
    /// Enough nodes have granted it, with this token at last.
    Held(u64),
    /// It waits for a notification.
    Listening,
    /// It was notified by a node, with a signal of this text.
    Notified(usize, Arc<str>),
}

/// What is known of a ticket on one node.
#[derive(Debug, Default)]
pub(super) struct At {
    /// An acquire was sent, and no release since: it may hold there.
    pub(super) open: bool,
    /// An acquire was sent on a connection that broke before the answer: a copy may arrive at any time.
    pub(super) late: bool,
    /// So many acquires are not answered yet.
    pub(super) awaited: u32,
    /// A release there leaves a tombstone: the ticket cannot be had there again.
    pub(super) tombed: bool,
    /// The counter of the last acquire.
    pub(super) asked: u64,
    /// That of its grant there; 0: none is known.
    pub(super) token: u64,
    /// When it was last put into the queue of those who wait.
    pub(super) place: Option<Instant>,
    /// The token of the signal that woke it there.
    pub(super) wake: Option<u64>,
    /// The hold was broken there.
    pub(super) lost: bool,
    /// How often its `expire` was restarted there.
    pub(super) refreshed: u32,
}

impl At {
    /// Whether an acquire may reach the node after a release that is sent from now on.
    pub(super) fn may_come(&self, is_up: bool) -> bool {
        self.late || !is_up && self.awaited > 0
    }
}

impl Entry {
    pub(super) fn new(name: Name, want: Want, nodes: usize) -> Self {
        Self {
            name,
            want,
            phase: Phase::Wanting,
            at: (0..nodes).map(|_| At::default()).collect(),
            job: None,
            later: VecDeque::new(),
            side: None,
            woken: false,
            collisions: 0,
            refreshed: 0,
        }
    }

    /// On how many nodes it may hold.
    pub(super) fn open(&self) -> usize {
        self.at.iter().filter(|at| at.open).count()
    }

    /// Whether a release has left a tombstone on some node, so that it should go on under a fresh ticket.
    pub(super) fn is_worn(&self) -> bool {
        self.at.iter().any(|at| at.tombed)
    }

    /// The request to one node.
    pub(super) fn acquire(&self, ticket: Ticket) -> Op {
        let want = &self.want;
        match want.adopts {
            Some(old) => Op::Adopt {
                old,
                ticket,
                counter: want.counter,
                hold: want.hold,
                place: want.place,
                meta: want.meta.clone(),
            },
            None => Op::Acquire {
                ticket,
                counter: want.counter,
                share: want.share.clone(),
                hold: want.hold,
                place: want.place,
                mode: if want.share.capacity == 0 {
                    want.mode
                } else {
                    Mode::Try
                },
                meta: want.meta.clone(),
            },
        }
    }

    /// A touch of it, renewing by what was asked last.
    pub(super) fn touch(&self, ticket: Ticket, units: u32) -> Op {
        Op::Touch {
            ticket,
            counter: self.want.counter,
            units,
            hold: self.want.hold,
            place: self.want.place,
        }
    }

    /// The name beside it where those queue who wait for a release.
    pub(super) fn side(&mut self) -> Name {
        let name = &self.name;
        self.side.get_or_insert_with(|| beside(name)).clone()
    }
}

/// Where those queue who wait for a release of `name`.
pub(super) fn beside(name: &Name) -> Name {
    name.beside("wake")
}
