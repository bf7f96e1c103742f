//! [`Visitor`]: sees each id, time and number of a value, and may change it. An explorer of states thus gives all
//! states that behave alike the same numbers.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::client::CallId;
use crate::{HolderRecord, Instant, Lease, MemberId, Op, Reply, TOKENS_OF_A_GRANT, Ticket};

/// What meets the ids, times and numbers of a value. What it does not name stays as it is.
#[allow(unused_variables)]
pub trait Visitor {
    /// A client's time.
    fn instant(&mut self, at: &mut Instant) {}
    /// The store's time, in microseconds.
    fn server_time(&mut self, micros: &mut u64) {}
    /// A place in the queue of a store.
    fn place(&mut self, place: &mut u64) {}
    /// A token of the store; zero for none.
    fn token(&mut self, token: &mut u64) {}
    /// The counter of a request of a ticket, which is not renamed yet.
    fn counter(&mut self, of: Ticket, counter: &mut u64) {}
    /// A ticket.
    fn ticket(&mut self, ticket: &mut Ticket) {}
    /// A member.
    fn member(&mut self, member: &mut MemberId) {}
    /// A call.
    fn call(&mut self, call: &mut CallId) {}
}

/// A fencing token is a token of the store and the number of a call.
pub fn fencing(token: &mut u64, visitor: &mut impl Visitor) {
    let mut base = *token / TOKENS_OF_A_GRANT;
    visitor.token(&mut base);
    *token = base * TOKENS_OF_A_GRANT + *token % TOKENS_OF_A_GRANT;
}

pub(crate) fn instants<const N: usize>(times: [&mut Instant; N], visitor: &mut impl Visitor) {
    times.into_iter().for_each(|at| visitor.instant(at));
}

pub(crate) fn holder(holder: &mut Option<HolderRecord>, visitor: &mut impl Visitor) {
    if let Some(holder) = holder {
        visitor.token(&mut holder.token);
    }
}

/// Shows keys and values, and files the values under their new keys.
pub(crate) fn keyed<K: Clone + Ord, V>(
    map: &mut BTreeMap<K, V>,
    mut show: impl FnMut(&mut K, &mut V),
) {
    let mut is_same = true;
    let mut keys = Vec::with_capacity(map.len());
    for (old, value) in map.iter_mut() {
        let mut new = old.clone();
        show(&mut new, value);
        is_same &= new == *old;
        keys.push(new);
    }
    if !is_same {
        *map = keys
            .into_iter()
            .zip(core::mem::take(map).into_values())
            .collect();
    }
}

impl Lease {
    fn visit(&mut self, visitor: &mut impl Visitor) {
        visitor.counter(self.ticket, &mut self.counter);
        visitor.ticket(&mut self.ticket);
    }
}

impl Op {
    /// Shows the operation to `visitor`.
    pub fn visit(&mut self, visitor: &mut impl Visitor) {
        match self {
            Self::Acquire { lease, .. } | Self::Touch { lease, .. } => lease.visit(visitor),
            Self::Adopt { old, lease, .. } => {
                visitor.ticket(old);
                lease.visit(visitor);
            }
            Self::Release { ticket, used, .. } => {
                visitor.token(used);
                visitor.ticket(ticket);
            }
            Self::Raise { ticket, token } => {
                visitor.token(token);
                visitor.ticket(ticket);
            }
            Self::Signal { ticket, .. } => visitor.ticket(ticket),
            Self::Kick { token, .. } => visitor.token(token),
            Self::Force | Self::Probe { .. } | Self::Delete | Self::Inspect { .. } => {}
        }
    }
}

impl Reply {
    /// Shows the reply to `visitor`.
    pub fn visit(&mut self, visitor: &mut impl Visitor) {
        match self {
            Self::Granted { token, .. } => visitor.token(token),
            Self::Queued { holder: of, .. } | Self::Busy { holder: of } => holder(of, visitor),
            Self::Kept { holder } => visitor.token(&mut holder.token),
            _ => {}
        }
    }
}
