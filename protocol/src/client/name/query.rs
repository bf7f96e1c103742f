//! Questions about the name, which no ticket asks.

use alloc::vec::Vec;
use core::time::Duration;

use super::Step;
use super::call::{AskId, Caller};
use super::input::{Effect, Failure};
use crate::{Instant, Op, Reply, StoreError, StoreErrorKind};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Query {
    pub(super) ask: AskId,
    pub(super) op: Op,
    pub(super) again: Instant,
    pub(super) sent: Instant,
    pub(super) deadline: Instant,
    /// When to send the last copy: a later one might be executed twice.
    pub(super) latest: Instant,
}

impl Query {
    pub(super) fn ends(&self, spared: Instant) -> Instant {
        self.deadline.max(spared).min(self.latest)
    }
}

impl<C: Caller> Step<'_, '_, C> {
    pub(super) fn ask(&mut self, ask: AskId, op: Op) {
        if let Op::Inspect { .. } = op {
            self.tell_use();
        }
        let limit = match op {
            Op::Signal { .. } => self.limits.signalled_within,
            _ => Duration::MAX,
        };
        self.submit_as(ask, op.clone());
        self.state.queries.push(Query {
            ask,
            op,
            again: Instant::NEVER,
            sent: self.now,
            deadline: self.now.after(self.env.client.store_timeout),
            latest: self.now.after(limit),
        });
    }

    pub(super) fn answer_query(&mut self, ask: AskId, result: Result<Reply, StoreError>) {
        let queries = &mut self.state.queries;
        let Some(index) = queries.iter().position(|query| query.ask == ask) else {
            return;
        };
        let query = &mut queries[index];
        match &result {
            Err(error) if error.is_disconnected() && is_harmless_twice(&query.op) => return,
            Err(error) if error.kind() == StoreErrorKind::Busy => {
                query.again = self.now.after(self.limits.retry);
                return;
            }
            _ => {}
        }
        queries.swap_remove(index);
        let result = result.map_err(Failure::Refused);
        self.effects.push(Effect::Replied { ask, result });
    }

    pub(super) fn ask_queries_again(&mut self) {
        self.send_again(|query| is_harmless_twice(&query.op));
    }

    /// Skips queries that must not be sent twice; the next timer fails them.
    fn send_again(&mut self, which: impl Fn(&Query) -> bool) {
        let (mut again, now) = (Vec::new(), self.now);
        let queries = self.state.queries.iter_mut();
        for query in queries.filter(|query| now < query.latest && which(query)) {
            query.again = Instant::NEVER;
            query.sent = now;
            again.push((query.ask, query.op.clone()));
        }
        for (ask, op) in again {
            self.submit_as(ask, op);
        }
    }

    pub(super) fn due_queries(&mut self) {
        if self.state.queries.is_empty() {
            return;
        }
        let (now, spared) = (self.now, self.state.spared);
        self.send_again(|query| query.again <= now);
        let late = |query: &Query| query.ends(spared) <= now;
        if !self.state.queries.iter().any(late) {
            return;
        }
        let error = Failure::Unavailable(self.silence(None));
        for query in self.state.queries.extract_if(.., |query| late(query)) {
            self.effects.push(Effect::Replied {
                ask: query.ask,
                result: Err(error.clone()),
            });
        }
    }
}

/// A second `Force` could break the lock of the next holder, and a second `Delete` could drop signals added since. A
/// second `Kick` would report that it broke nothing.
fn is_harmless_twice(op: &Op) -> bool {
    !matches!(op, Op::Force | Op::Kick { .. } | Op::Delete)
}
