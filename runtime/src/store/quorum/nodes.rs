//! [`Nodes`]: the servers as the quorum uses them: which can be reached, and what is sent to which.

use std::sync::Arc;

use super::enough::majority;
use super::owed::{Leave, Owed};
use crate::clock::Instant;
use crate::error::StoreError;
use crate::name::Name;
use crate::store::{Answer, Closing, Op, Request, RequestId, Store, Ticket};

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
    /// About a place beside a name; nobody waits for it either.
    pub(super) const PLACE: Self = Self::second(0);

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

struct NodeState {
    store: Arc<dyn Store>,
    /// Why it cannot be reached; `None` while it can.
    down: Option<StoreError>,
    /// Until when it grants nothing.
    closing: Option<Closing>,
    owed: Owed,
    touched: bool,
}

/// So much of what a node has refused is sent again at a time.
const AT_ONCE: usize = 100;

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
            owed: Owed::default(),
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

    /// `node` grants nothing until then.
    pub(super) fn note_closed(&mut self, node: usize, closing: Option<Closing>) {
        self.all[node].closing = closing;
    }

    /// Until when no majority grants, of the nodes that can be reached.
    pub(super) fn closing(&self, now: Instant) -> Option<Closing> {
        let up = self.all.iter().filter(|node| node.down.is_none());
        let closing = up.filter_map(|node| node.closing);
        let mut closing: Vec<_> = closing.filter(|closing| now < closing.until).collect();
        closing.sort_by_key(|closing| closing.until);
        let open = self.up() - closing.len();
        let missing = majority(self.len()).checked_sub(open + 1)?;
        closing.get(missing).copied()
    }

    pub(super) fn note_down(&mut self, node: usize, error: StoreError) {
        self.all[node].down = Some(error);
    }

    /// The node can be reached again: what is owed to it is sent.
    pub(super) fn note_up(&mut self, node: usize, now: Instant) {
        self.all[node].down = None;
        self.pay(node, now, usize::MAX);
    }

    fn pay(&mut self, node: usize, now: Instant, most: usize) {
        for (name, op) in self.all[node].owed.take(now, most) {
            self.send(node, Purpose::NOBODY, &name, op);
        }
    }

    /// Some time after `node` has refused what is owed to it: it is sent again.
    pub(super) fn pay_again(&mut self, node: usize, now: Instant) {
        self.all[node].owed.armed = false;
        if self.is_up(node) {
            self.pay(node, now, AT_ONCE);
        }
    }

    /// Why there are not as many answers as are `needed`.
    pub(super) fn cause(&self, needed: usize) -> String {
        let (up, all) = (self.up(), self.len());
        let down = self.all.iter().find_map(|node| node.down.as_ref());
        let cause = down.map(|error| format!(": {error}")).unwrap_or_default();
        match up {
            _ if up < needed => {
                format!("{up} of {all} servers can be reached, {needed} are needed{cause}")
            }
            _ if up < all => {
                format!(
                    "fewer than {needed} of {all} servers have answered, and {up} can be reached{cause}"
                )
            }
            _ => format!("fewer than {needed} of {all} servers have answered"),
        }
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

    /// `node` has not executed a release, for all that is known. `until`: then its lease has ended there.
    pub(super) fn owe(
        &mut self,
        node: usize,
        name: &Name,
        leave: Leave,
        (now, until): (Instant, Instant),
    ) {
        self.all[node].owed.add(name, leave, until, now);
    }

    /// Whether what is owed to `node` has to be sent again after a while: nobody has seen to that yet.
    pub(super) fn must_pay_again(&mut self, node: usize) -> bool {
        !std::mem::replace(&mut self.all[node].owed.armed, true)
    }

    /// `node` has executed a release.
    pub(super) fn paid(&mut self, node: usize, ticket: Ticket) {
        self.all[node].owed.paid(ticket);
    }

    #[cfg(test)]
    pub(super) fn owes(&self, node: usize, ticket: Ticket) -> bool {
        self.all[node].owed.has(ticket)
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
