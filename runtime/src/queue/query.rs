//! Queries about a name, and breaking its lock.

use std::sync::Arc;
use std::time::Duration;

use super::answer::RETRY;
use super::lock_queue::{Answered, LockQueue, Query, Transition};
use crate::clock::Instant;
use crate::error::{StoreError, StoreErrorKind};
use crate::observe::operation;
use crate::store::{Op, Reply, RequestId};
use crate::wait::Promise;

/// For this time a signal may be sent again. The store remembers for 30 s that it has executed a signal.
const SIGNALLED_WITHIN: Duration = Duration::from_secs(25);

impl LockQueue {
    /// Sends `op`, which concerns the name and no ticket of this queue; `None` if the name was retired.
    pub(crate) fn query(self: &Arc<Self>, op: &Op) -> Option<Answered> {
        self.step(|step| {
            let promise = Arc::new(Promise::new());
            let member = step.queue.member();
            let store_timeout = member.settings().store_timeout();
            let limit = if matches!(op, Op::Signal { .. }) {
                SIGNALLED_WITHIN
            } else {
                Duration::MAX
            };
            let query = Query {
                id: member.request_id(),
                op: op.clone(),
                again: Instant::NEVER,
                sent: step.now,
                deadline: step.now.after(store_timeout),
                latest: step.now.after(limit),
                promise: promise.clone(),
            };
            step.submit_as(query.id, query.op.clone());
            step.state.queries.push(query);
            promise
        })
    }
}

impl Transition<'_> {
    pub(super) fn answer_query(&mut self, id: RequestId, result: Result<Reply, StoreError>) {
        let queries = &mut self.state.queries;
        let Some(index) = queries.iter().position(|query| query.id == id) else {
            return;
        };
        let harmless_twice = is_harmless_twice(&queries[index].op);
        let (operation, sent) = (operation(&queries[index].op), queries[index].sent);
        self.note_answer(operation, sent, &result);
        let result = match result {
            Ok(reply) => Ok(reply),
            // The query is sent again when the connection is back.
            Err(error) if error.is_disconnected() && harmless_twice => return,
            // The store did not execute the query; the cause is temporary.
            Err(error) if error.kind() == StoreErrorKind::Busy => {
                self.state.queries[index].again = self.now.after(RETRY);
                return;
            }
            Err(error) => Err(self.lock_error(error)),
        };
        let query = self.state.queries.swap_remove(index);
        let _ = query.promise.complete(result, self.wakes);
    }

    /// Called for a new connection: resends the queries that may be executed twice.
    pub(super) fn ask_queries_again(&mut self) {
        self.send_again(|query| is_harmless_twice(&query.op));
    }

    /// Resends the queries that `which` selects, except those that may not be sent again. The next timer fails these.
    fn send_again(&mut self, which: impl Fn(&Query) -> bool) {
        let (mut again, now) = (Vec::new(), self.now);
        let queries = self.state.queries.iter_mut();
        for query in queries.filter(|query| now < query.latest && which(query)) {
            query.again = Instant::NEVER;
            query.sent = now;
            again.push((query.id, query.op.clone()));
        }
        for (id, op) in again {
            self.submit_as(id, op);
        }
    }

    pub(super) fn due_queries(&mut self) {
        if self.state.queries.is_empty() {
            return;
        }
        let now = self.now;
        self.send_again(|query| query.again <= now);
        let spared = self.spared();
        let late = |query: &Query| query.ends(spared) <= now;
        if !self.state.queries.iter().any(late) {
            return;
        }
        let error = self.unavailable(self.silence(None));
        for query in self.state.queries.extract_if(.., |query| late(query)) {
            let _ = query.promise.complete(Err(error.clone()), self.wakes);
        }
    }
}

/// Whether a second execution of `op` is harmless. A second `Force` could break the lock of the next holder. A second
/// `Delete` could drop signals that were added since. A second `Kick` breaks no other hold, but it would report that it
/// broke none.
fn is_harmless_twice(op: &Op) -> bool {
    !matches!(op, Op::Force { .. } | Op::Kick { .. } | Op::Delete)
}
