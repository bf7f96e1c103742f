//! [`Nodes`]: the servers as the quorum uses them: which can be reached, what is sent to which, and which releases are
//! still owed to one that could not be reached.

use std::sync::Arc;
use std::time::Duration;

use super::enough::majority;
use crate::clock::Instant;
use crate::error::StoreError;
use crate::name::Name;
use crate::store::{Answer, Closing, Op, Request, RequestId, Store, Ticket, TicketMap};

/// Whose answer it is: a job's, and which part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Purpose {
    /// 0: nobody waits for it.
    pub(super) job: u64,
    pub(super) part: Part,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// About the name itself.
    Main,
    /// What follows on it.
    Second,
}

impl Purpose {
    pub(super) const NOBODY: Self = Self::main(0);

    pub(super) const fn main(job: u64) -> Self {
        Self {
            job,
            part: Part::Main,
        }
    }

    pub(super) const fn second(job: u64) -> Self {
        Self {
            job,
            part: Part::Second,
        }
    }

    fn id(self) -> RequestId {
        RequestId(self.job << 1 | u64::from(self.part == Part::Second))
    }

    pub(super) fn of(id: RequestId) -> Self {
        let part = match id.0 & 1 {
            0 => Part::Main,
            _ => Part::Second,
        };
        Self {
            job: id.0 >> 1,
            part,
        }
    }
}

/// A release that a server has not heard of.
#[derive(Debug)]
struct Owed {
    name: Name,
    park_until: Instant,
    used: u64,
    /// Then its lease has ended there.
    until: Instant,
}

struct NodeState {
    store: Arc<dyn Store>,
    /// Why it cannot be reached; `None` while it can.
    down: Option<StoreError>,
    /// Until when it grants nothing.
    closing: Option<Closing>,
    owed: TicketMap<Owed>,
    touched: bool,
}

/// So many releases are owed to a server at most: all of their leases end soon anyway.
const MOST_OWED: usize = 10_000;

pub(super) struct Nodes {
    all: Vec<NodeState>,
    /// Answers that came at once: the connection is closed.
    pub(super) refused: Vec<(usize, Answer)>,
}

impl Nodes {
    /// Each with whether it is connected already.
    pub(super) fn new(stores: Vec<(Arc<dyn Store>, bool)>) -> Self {
        let never = || StoreError::disconnected("it was not reached yet");
        let state = |(store, connected): (_, bool)| NodeState {
            store,
            down: (!connected).then(never),
            closing: None,
            owed: TicketMap::default(),
            touched: false,
        };
        Self {
            all: stores.into_iter().map(state).collect(),
            refused: Vec::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn indices(&self) -> std::ops::Range<usize> {
        0..self.all.len()
    }

    pub(super) fn is_up(&self, node: usize) -> bool {
        self.all[node].down.is_none()
    }

    /// How many can be reached.
    pub(super) fn up(&self) -> usize {
        self.all.iter().filter(|node| node.down.is_none()).count()
    }

    /// Whether a majority can be reached.
    pub(super) fn are_connected(&self) -> bool {
        self.up() >= majority(self.len())
    }

    /// `node` grants nothing until then. Says until when no majority does.
    pub(super) fn note_closed(
        &mut self,
        node: usize,
        closing: Option<Closing>,
        now: Instant,
    ) -> Option<Closing> {
        self.all[node].closing = closing;
        let closing = self.all.iter().filter_map(|node| node.closing);
        let mut closing: Vec<_> = closing.filter(|closing| now < closing.until).collect();
        closing.sort_by_key(|closing| closing.until);
        let open = self.len() - closing.len();
        let missing = majority(self.len()).checked_sub(open + 1)?;
        closing.get(missing).copied()
    }

    pub(super) fn note_down(&mut self, node: usize, error: StoreError) {
        self.all[node].down = Some(error);
    }

    /// The node can be reached again: what is owed to it is sent.
    pub(super) fn note_up(&mut self, node: usize, now: Instant) {
        self.all[node].down = None;
        for (ticket, owed) in std::mem::take(&mut self.all[node].owed) {
            if now < owed.until {
                let op = Op::Release {
                    ticket,
                    park: now.until(owed.park_until),
                    tomb: true,
                    used: owed.used,
                };
                self.send(node, Purpose::NOBODY, &owed.name, op);
            }
        }
    }

    /// Why not all can be reached.
    pub(super) fn cause(&self, needed: usize) -> String {
        let down = self.all.iter().find_map(|node| node.down.as_ref());
        let cause = down.map(|error| format!(": {error}")).unwrap_or_default();
        format!(
            "{} of {} servers can be reached, {needed} are needed{cause}",
            self.up(),
            self.len()
        )
    }

    pub(super) fn send(&mut self, node: usize, purpose: Purpose, name: &Name, op: Op) {
        let request = Request {
            name: name.clone(),
            op,
            id: purpose.id(),
        };
        let state = &mut self.all[node];
        state.touched = true;
        if let Some(answer) = state.store.submit(request) {
            self.refused.push((node, answer));
        }
    }

    /// A release of `ticket` could not be sent to `node`, or was not answered. Its lease ends within `lease`.
    pub(super) fn owe(
        &mut self,
        node: usize,
        name: &Name,
        release: (Ticket, Duration, u64),
        (now, lease): (Instant, Duration),
    ) {
        let (ticket, park, used) = release;
        let owed = &mut self.all[node].owed;
        if owed.len() >= MOST_OWED {
            owed.retain(|_, owed| now < owed.until);
        }
        if owed.len() < MOST_OWED {
            let entry = owed.entry(ticket);
            entry.or_insert_with(|| Owed {
                name: name.clone(),
                park_until: now.after(park),
                used,
                until: now.after(lease.max(park)),
            });
        }
    }

    pub(super) fn flush(&mut self) {
        for node in &mut self.all {
            if std::mem::take(&mut node.touched) {
                node.store.flush();
            }
        }
    }

    pub(super) fn close(&self) {
        for node in &self.all {
            node.store.close();
        }
    }
}
